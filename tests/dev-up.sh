# SPDX-License-Identifier: GPL-2.0-or-later
# Part of ./dev: `up`. Starts server, agent and demo data, and stops them together.

# The private PostgreSQL runs as an ordinary user when we are root, so its folder must be
# reachable by that user: a checkout below /root is not.
default_data_dir() {
	if [ "$(id -u)" -eq 0 ] && ! runuser -u postgres -- test -x "$PWD"; then
		echo "/var/lib/rigstat-dev/$(pwd | sha256sum | cut -c1-12)"
	else
		echo "$PWD/.rigstat"
	fi
}

# Status line of GET /readyz, "" when nobody listens. Plain bash: no curl on a bare system.
readyz() { # port
	(
		exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 0
		printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
		read -r -t 5 line <&3 && echo "$line" || echo "no HTTP"
	) 2>/dev/null
}

wait_ready() { # port pid
	local i
	for i in $(seq 600); do
		case "$(readyz "$1")" in *" 200 "*) return 0 ;; esac
		kill -0 "$2" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

# Children get SIGTERM in turn: first the agent (it flushes to the server), then the server
# (it stops its PostgreSQL).
stop_all() {
	trap - INT TERM EXIT
	local p
	for p in ${agent_pid:-} ${server_pid:-}; do
		kill -TERM "$p" 2>/dev/null || continue
		wait "$p" 2>/dev/null || true
	done
	echo "dev: stopped"
}

start_agent() { # url data
	local cpus host
	cpus=$(nproc)
	host=$(hostname)
	build/agent/rigstat-agent daemon --server "$1" --spool "$2/spool" --host "$host" \
		--cpus "$((cpus - 1))" >"$2/agent.log" 2>&1 &
	agent_pid=$!
}

cmd_up() {
	local port=8420 data="" demo=1 agent=1 url
	while [ $# -gt 0 ]; do
		case "$1" in
		--port) port=${2:?--port needs a number}; shift ;;
		--data) data=${2:?--data needs a folder}; shift ;;
		--no-demo) demo="" ;;
		--no-agent) agent="" ;;
		*) die "up: unknown option '$1'; see ./dev help" ;;
		esac
		shift
	done
	url="http://127.0.0.1:$port"
	case "$(readyz "$port")" in
	"") ;;
	*" 200 "* | *" 503 "*)
		die "already running: $url/ (stop it with Ctrl-C in its terminal, or choose another --port)"
		;;
	*) die "port $port is taken by another program; choose another with --port" ;;
	esac
	build_release "${server_packages[@]}"
	[ -n "$data" ] || data=$(default_data_dir)
	mkdir -p "$data"
	trap stop_all EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	build/server/rigstat-server serve --listen "127.0.0.1:$port" --embedded "$data/pg" >"$data/server.log" 2>&1 &
	server_pid=$!
	wait_ready "$port" "$server_pid" || {
		tail -n 20 "$data/server.log" >&2
		die "the server did not start; its log is $data/server.log"
	}
	[ -z "$demo" ] || [ -e "$data/demo-offered" ] || {
		build/cli/rigstat demo load --server "$url" >/dev/null && touch "$data/demo-offered"
	}
	[ -z "$agent" ] || start_agent "$url" "$data"
	echo "ready: $url/"
	wait -n
	die "a program ended: see $data/server.log and $data/agent.log"
}
