#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiment of 2004 on a loop device: does a smaller request shorten the wake-up tail?
set -euo pipefail
. "$(dirname "$0")/common.sh"

name=${NAME:-max_sectors_kb-$(date +%H%M%S)}
truncate -s 512M "$work/disk"
loop=$(losetup --find --show "$work/disk")

run_agent --experiment "$name" --runs "${RUNS:-5}" --order "${ORDER:-alternate}" \
	--warmup 2s --duration "${DURATION:-10s}" --factor max_sectors_kb=64,32,16 \
	--tune "max_sectors_kb=/sys/block/${loop#/dev/}/queue/max_sectors_kb" -- \
	fio --name=load "--filename=$loop" --rw=randrw --bs=256k --direct=1 --ioengine=libaio \
	--iodepth=8 --time_based --runtime=3600 --output-format=terse
sleep 2
wait_packed "$name"
compare "$name" max_sectors_kb 64 32
compare "$name" max_sectors_kb 64 16
