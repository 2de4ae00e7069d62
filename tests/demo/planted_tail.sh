#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A planted effect: one level's workload holds the measured CPU above the probe's priority.
set -euo pipefail
. "$(dirname "$0")/common.sh"

name=${NAME:-planted-$(date +%H%M%S)}
run_agent --experiment "$name" --runs "${RUNS:-6}" --order abba --warmup 1s \
	--duration "${DURATION:-10s}" --cpus 1 --housekeeping 0 --factor spinner=off,on -- \
	/usr/bin/python3 "$root/tests/demo/spinner.py" 1
sleep 2
wait_packed "$name"
compare "$name" spinner off on
