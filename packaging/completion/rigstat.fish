# SPDX-License-Identifier: GPL-2.0-or-later
# Written by packaging/from_help.py. fish completion of rigstat: verbs, options, files.

complete -c rigstat -n __fish_use_subcommand -f -a compare -d 'two to six sides: files, or runs of a server'
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l a
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l anyway
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l b
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l better
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l by
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l confidence
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l dark
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l factor
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l format
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l help
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l json
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l label
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l margin
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l markdown
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l primary
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l server
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l set-a
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l set-b
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l stat
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l svg
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l threshold
complete -c rigstat -n '__fish_seen_subcommand_from compare' -l unit
complete -c rigstat -n __fish_use_subcommand -f -a gate -d 'pass, fail or inconclusive by rules, for CI'
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l a
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l against
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l b
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l every
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l help
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l inconclusive
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l json
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l junit
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l markdown
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l mode
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l rule
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l self
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l server
complete -c rigstat -n '__fish_seen_subcommand_from gate' -l stop-on-breach
complete -c rigstat -n __fish_use_subcommand -f -a check-report -d 'do the figures of a report agree with each other?'
complete -c rigstat -n '__fish_seen_subcommand_from check-report' -l help
complete -c rigstat -n '__fish_seen_subcommand_from check-report' -l json
complete -c rigstat -n __fish_use_subcommand -f -a profile -d 'what the CPUs did in a run, and what moved between two sides'
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l a
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l anyway
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l b
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l by
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l confidence
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l factor
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l help
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l json
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l margin
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l markdown
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from profile' -l server
complete -c rigstat -n __fish_use_subcommand -f -a hosts -d 'test boxes of a server'
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l all
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l help
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l json
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l limit
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l server
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l state
complete -c rigstat -n '__fish_seen_subcommand_from hosts' -l tag
complete -c rigstat -n __fish_use_subcommand -f -a host -d 'one test box: show, reserve, release, retire'
complete -c rigstat -n '__fish_seen_subcommand_from host' -l as
complete -c rigstat -n '__fish_seen_subcommand_from host' -l for
complete -c rigstat -n '__fish_seen_subcommand_from host' -l force
complete -c rigstat -n '__fish_seen_subcommand_from host' -l help
complete -c rigstat -n '__fish_seen_subcommand_from host' -l json
complete -c rigstat -n '__fish_seen_subcommand_from host' -l reason
complete -c rigstat -n '__fish_seen_subcommand_from host' -l server
complete -c rigstat -n __fish_use_subcommand -f -a runs -d 'runs of a server, by selector'
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l all
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l experiment
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l help
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l host
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l json
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l limit
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l server
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l since
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l sort
complete -c rigstat -n '__fish_seen_subcommand_from runs' -l until
complete -c rigstat -n __fish_use_subcommand -f -a run -d 'one run of a server: all that it measured, and its cost'
complete -c rigstat -n '__fish_seen_subcommand_from run' -l all
complete -c rigstat -n '__fish_seen_subcommand_from run' -l help
complete -c rigstat -n '__fish_seen_subcommand_from run' -l json
complete -c rigstat -n '__fish_seen_subcommand_from run' -l server
complete -c rigstat -n __fish_use_subcommand -f -a experiments -d 'experiments of a server'
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l all
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l help
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l host
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l json
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l limit
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l name
complete -c rigstat -n '__fish_seen_subcommand_from experiments' -l server
complete -c rigstat -n __fish_use_subcommand -f -a experiment -d 'asks test boxes to carry one out'
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l as
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l dry-run
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l duration
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l factor
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l help
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l host
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l json
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l on-failure
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l order
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l quiet
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l retries
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l runs
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l seed
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l server
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l tune
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l wait
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l warmup
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l watch
complete -c rigstat -n '__fish_seen_subcommand_from experiment' -l workload
complete -c rigstat -n __fish_use_subcommand -f -a pin -d 'keeps a comparison of a server as it is now'
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l a
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l b
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l c
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l help
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l json
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l server
complete -c rigstat -n '__fish_seen_subcommand_from pin' -l title
complete -c rigstat -n __fish_use_subcommand -f -a show -d 'what a file says and what was inferred from it'
complete -c rigstat -n '__fish_seen_subcommand_from show' -l format
complete -c rigstat -n '__fish_seen_subcommand_from show' -l formats
complete -c rigstat -n '__fish_seen_subcommand_from show' -l help
complete -c rigstat -n '__fish_seen_subcommand_from show' -l interval
complete -c rigstat -n '__fish_seen_subcommand_from show' -l json
complete -c rigstat -n '__fish_seen_subcommand_from show' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from show' -l overflow
complete -c rigstat -n '__fish_seen_subcommand_from show' -l unit
complete -c rigstat -n __fish_use_subcommand -f -a import -d 'files, folders and archives to the server'
complete -c rigstat -n '__fish_seen_subcommand_from import' -l boot
complete -c rigstat -n '__fish_seen_subcommand_from import' -l dry-run
complete -c rigstat -n '__fish_seen_subcommand_from import' -l experiment
complete -c rigstat -n '__fish_seen_subcommand_from import' -l format
complete -c rigstat -n '__fish_seen_subcommand_from import' -l formats
complete -c rigstat -n '__fish_seen_subcommand_from import' -l help
complete -c rigstat -n '__fish_seen_subcommand_from import' -l host
complete -c rigstat -n '__fish_seen_subcommand_from import' -l interval
complete -c rigstat -n '__fish_seen_subcommand_from import' -l json
complete -c rigstat -n '__fish_seen_subcommand_from import' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from import' -l overflow
complete -c rigstat -n '__fish_seen_subcommand_from import' -l server
complete -c rigstat -n '__fish_seen_subcommand_from import' -l set
complete -c rigstat -n '__fish_seen_subcommand_from import' -l tag
complete -c rigstat -n '__fish_seen_subcommand_from import' -l undo
complete -c rigstat -n '__fish_seen_subcommand_from import' -l unit
complete -c rigstat -n '__fish_seen_subcommand_from import' -l watch
complete -c rigstat -n __fish_use_subcommand -f -a submit -d 'results of a CI job, with commit and labels'
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l branch
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l commit
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l experiment
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l format
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l formats
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l help
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l host
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l interval
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l json
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l label
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l overflow
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l server
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l set
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l started
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l unit
complete -c rigstat -n '__fish_seen_subcommand_from submit' -l value
complete -c rigstat -n __fish_use_subcommand -f -a series -d 'statistics over runs, by time or version'
complete -c rigstat -n '__fish_seen_subcommand_from series' -l all
complete -c rigstat -n '__fish_seen_subcommand_from series' -l branch
complete -c rigstat -n '__fish_seen_subcommand_from series' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from series' -l experiment
complete -c rigstat -n '__fish_seen_subcommand_from series' -l help
complete -c rigstat -n '__fish_seen_subcommand_from series' -l host
complete -c rigstat -n '__fish_seen_subcommand_from series' -l json
complete -c rigstat -n '__fish_seen_subcommand_from series' -l limit
complete -c rigstat -n '__fish_seen_subcommand_from series' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from series' -l points
complete -c rigstat -n '__fish_seen_subcommand_from series' -l reading
complete -c rigstat -n '__fish_seen_subcommand_from series' -l server
complete -c rigstat -n '__fish_seen_subcommand_from series' -l stat
complete -c rigstat -n __fish_use_subcommand -f -a changes -d 'what changed in them'
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l all
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l csv
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l direction
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l help
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l host
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l json
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l limit
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l server
complete -c rigstat -n '__fish_seen_subcommand_from changes' -l state
complete -c rigstat -n __fish_use_subcommand -f -a change -d 'accept, ignore or mark a change'
complete -c rigstat -n '__fish_seen_subcommand_from change' -l by
complete -c rigstat -n '__fish_seen_subcommand_from change' -l help
complete -c rigstat -n '__fish_seen_subcommand_from change' -l issue
complete -c rigstat -n '__fish_seen_subcommand_from change' -l note
complete -c rigstat -n '__fish_seen_subcommand_from change' -l owner
complete -c rigstat -n '__fish_seen_subcommand_from change' -l reason
complete -c rigstat -n '__fish_seen_subcommand_from change' -l server
complete -c rigstat -n __fish_use_subcommand -f -a relabel -d 'other factor levels for an imported run'
complete -c rigstat -n '__fish_seen_subcommand_from relabel' -l help
complete -c rigstat -n '__fish_seen_subcommand_from relabel' -l server
complete -c rigstat -n __fish_use_subcommand -f -a tag -d 'tags of runs, hosts and experiments'
complete -c rigstat -n '__fish_seen_subcommand_from tag' -l help
complete -c rigstat -n '__fish_seen_subcommand_from tag' -l server
complete -c rigstat -n __fish_use_subcommand -f -a annotate -d 'a note on a run, host or experiment'
complete -c rigstat -n '__fish_seen_subcommand_from annotate' -l append
complete -c rigstat -n '__fish_seen_subcommand_from annotate' -l help
complete -c rigstat -n '__fish_seen_subcommand_from annotate' -l server
complete -c rigstat -n __fish_use_subcommand -f -a rename -d 'another name for an experiment or host'
complete -c rigstat -n '__fish_seen_subcommand_from rename' -l help
complete -c rigstat -n '__fish_seen_subcommand_from rename' -l server
complete -c rigstat -n __fish_use_subcommand -f -a export -d 'runs as JSON, CSV, HdrHistogram or OpenMetrics'
complete -c rigstat -n '__fish_seen_subcommand_from export' -l format
complete -c rigstat -n '__fish_seen_subcommand_from export' -l help
complete -c rigstat -n '__fish_seen_subcommand_from export' -l interval
complete -c rigstat -n '__fish_seen_subcommand_from export' -l metric
complete -c rigstat -n '__fish_seen_subcommand_from export' -l overflow
complete -c rigstat -n '__fish_seen_subcommand_from export' -l server
complete -c rigstat -n '__fish_seen_subcommand_from export' -l to
complete -c rigstat -n '__fish_seen_subcommand_from export' -l unit
complete -c rigstat -n __fish_use_subcommand -f -a exclude -d 'leaves runs out of comparisons, with a reason'
complete -c rigstat -n '__fish_seen_subcommand_from exclude' -l help
complete -c rigstat -n '__fish_seen_subcommand_from exclude' -l reason
complete -c rigstat -n '__fish_seen_subcommand_from exclude' -l server
complete -c rigstat -n '__fish_seen_subcommand_from exclude' -l undo
complete -c rigstat -n __fish_use_subcommand -f -a doctor -d 'is all well: server, token, database, disk, boxes'
complete -c rigstat -n '__fish_seen_subcommand_from doctor' -l help
complete -c rigstat -n '__fish_seen_subcommand_from doctor' -l json
complete -c rigstat -n '__fish_seen_subcommand_from doctor' -l server
complete -c rigstat -n __fish_use_subcommand -f -a status -d 'is the server there, and what does it hold'
complete -c rigstat -n '__fish_seen_subcommand_from status' -l help
complete -c rigstat -n '__fish_seen_subcommand_from status' -l json
complete -c rigstat -n '__fish_seen_subcommand_from status' -l server
complete -c rigstat -n __fish_use_subcommand -f -a demo -d 'load or remove the two founding data sets'
complete -c rigstat -n '__fish_seen_subcommand_from demo' -l help
complete -c rigstat -n '__fish_seen_subcommand_from demo' -l server
