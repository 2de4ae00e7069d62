# SPDX-License-Identifier: GPL-2.0-or-later
# Written by packaging/from_help.py. bash completion of rigstat: verbs, options, files.

_rigstat() {
	local word=${COMP_WORDS[COMP_CWORD]} options=''

	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'compare gate check-report profile hosts host runs run experiments experiment pin show import submit series changes change relabel tag annotate rename export exclude doctor status demo --help --version' -- "$word")
		return
	fi
	case ${COMP_WORDS[1]} in
	compare) options='--a --anyway --b --better --by --confidence --csv --dark --factor --format --help --json --label --margin --markdown --metric --primary --server --set-a --set-b --stat --svg --threshold --unit' ;;
	gate) options='--a --against --b --every --help --inconclusive --json --junit --markdown --mode --rule --self --server --stop-on-breach' ;;
	check-report) options='--help --json' ;;
	profile) options='--a --anyway --b --by --confidence --csv --factor --help --json --margin --markdown --metric --server' ;;
	hosts) options='--all --csv --help --json --limit --server --state --tag' ;;
	host) options='--as --for --force --help --json --reason --server' ;;
	runs) options='--all --csv --experiment --help --host --json --limit --metric --server --since --sort --until' ;;
	run) options='--all --help --json --server' ;;
	experiments) options='--all --csv --help --host --json --limit --name --server' ;;
	experiment) options='--as --dry-run --duration --factor --help --host --json --on-failure --order --quiet --retries --runs --seed --server --tune --wait --warmup --watch --workload' ;;
	pin) options='--a --b --c --help --json --metric --server --title' ;;
	show) options='--format --formats --help --interval --json --metric --overflow --unit' ;;
	import) options='--boot --dry-run --experiment --format --formats --help --host --interval --json --metric --overflow --server --set --tag --undo --unit --watch' ;;
	submit) options='--branch --commit --experiment --format --formats --help --host --interval --json --label --metric --overflow --server --set --started --unit --value' ;;
	series) options='--all --branch --csv --experiment --help --host --json --limit --metric --points --reading --server --stat' ;;
	changes) options='--all --csv --direction --help --host --json --limit --metric --server --state' ;;
	change) options='--by --help --issue --note --owner --reason --server' ;;
	relabel) options='--help --server' ;;
	tag) options='--help --server' ;;
	annotate) options='--append --help --server' ;;
	rename) options='--help --server' ;;
	export) options='--format --help --interval --metric --overflow --server --to --unit' ;;
	exclude) options='--help --reason --server --undo' ;;
	doctor) options='--help --json --server' ;;
	status) options='--help --json --server' ;;
	demo) options='--help --server' ;;
	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	esac
}

complete -o filenames -F _rigstat rigstat
