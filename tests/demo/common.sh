# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the demonstrations: programs, a private spool, and the comparison at the end.

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${RIGSTAT_BUILD:-$root/build}
server=${RIGSTAT_SERVER:-http://127.0.0.1:8420}
work=$(mktemp -d /tmp/rigstat-demo.XXXXXX)
loop=

clean_up() {
	[ -z "$loop" ] || losetup --detach "$loop"
	rm -rf "$work"
}
trap clean_up EXIT

[ "$(id -u)" = 0 ] || { echo "$0: needs root to change settings" >&2; exit 1; }

run_agent() {
	"$build/agent/rigstat-agent" run --server "$server" --spool "$work/spool" \
		--journal "$work/tune.journal" "$@"
}

# wait_packed EXPERIMENT: until the server has packed what it received (a few seconds)
wait_packed() {
	local i
	for i in $(seq 60); do
		curl -sS --get "$server/api/v1/runs" --data-urlencode "q=experiment=$1" \
			--data limit=1000 | grep -q '"state":"running"' || return 0
		sleep 1
	done
}

# compare EXPERIMENT FACTOR A B: the text of the comparison, as it would go to a mailing list
compare() {
	curl -sS --get "$server/api/v1/compare" -H 'Accept: text/plain' --data format=text \
		--data-urlencode "a=experiment=$1,$2=$3" --data-urlencode "b=experiment=$1,$2=$4"
	echo
}
