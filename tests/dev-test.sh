# SPDX-License-Identifier: GPL-2.0-or-later
# Part of ./dev: `test`. Every part leaves a JUnit file; the closing line is their sum.

default_parts=(lint unit fuzz integration lab blame web)
demand_parts=(tsan faults attacks qemu compose)

part_lint() {
	cmd_lint && junit_one lint pass || junit_one lint fail
}

# A part without a framework of its own: one test in one JUnit file.
junit_one() { # name pass|fail
	local body=""
	[ "$2" = pass ] || body='<failure message="see the output"/>'
	printf '<testsuite name="%s"><testcase name="%s">%s</testcase></testsuite>\n' "$1" "$1" "$body" \
		>"$results/$1.xml"
	[ "$2" = pass ]
}

part_unit() {
	ctest --test-dir build-test --no-tests=error --output-on-failure -j2 -L unit \
		--output-junit "$results/unit.xml" | grep -v ' Passed '
}

part_fuzz() {
	ctest --test-dir build-test --no-tests=error --output-on-failure -L fuzz \
		--output-junit "$results/fuzz.xml" | grep -v ' Passed '
}

run_pytest() { # name path...
	local name=$1
	shift
	/usr/bin/python3 -m pytest -q -p no:cacheprovider --junitxml="$results/$name.xml" \
		-o junit_family=xunit2 -ra "$@"
}

part_integration() { run_pytest integration tests/integration; }
part_lab() { run_pytest lab tests/faults -m quick; }
part_faults() { run_pytest faults tests/faults; }
part_attacks() { run_pytest attacks tests/attacks; }
part_qemu() {
	install_packages qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross cpio
	run_pytest qemu tests/qemu
}
part_compose() {
	install_packages docker.io docker-compose iptables debootstrap iproute2 curl
	# The pages of this build: no Node in the container.
	mkdir -p web/dist && cp -a build-test/web/dist/. web/dist/
	run_pytest compose tests/compose
}
part_blame() { run_pytest blame tests/blame; }

# The threads of the agent under ThreadSanitizer: the hand-over alone, then the whole daemon.
part_tsan() {
	cmake --preset tsan -DRIGSTAT_WEB=OFF -DRIGSTAT_SERVER=OFF -DRIGSTAT_CLI=OFF >/dev/null
	cmake --build build-tsan --target rigstat-agent agent_test_wakeup
	build-tsan/tests/agent_test_wakeup || return 1
	# The analysis of each late wake-up takes seconds under TSan: only the worst ones.
	RIGSTAT_AGENT_OPTIONS="--blame 20ms" RIGSTAT_BUILD=$PWD/build-tsan run_pytest tsan tests/integration/test_agent_delivery.py \
		-k 'streams or experiment or quiet or moved'
}

part_web() {
	run_pytest web tests/web
}

prepare_tests() {
	want_npm=1 install_packages "${build_packages[@]}" "${server_packages[@]}" "${test_packages[@]}"
	configure_and_build dev build-test
}

cmd_test() {
	local parts=() p failed=0
	results=$(mktemp -d /tmp/rigstat-test.XXXXXX)
	for p in "$@"; do
		if [ "$p" = --all ]; then
			parts+=("${default_parts[@]}" "${demand_parts[@]}")
		elif declare -F "part_$p" >/dev/null; then
			parts+=("$p")
		else
			die "test: no part '$p'; there are: ${default_parts[*]} ${demand_parts[*]}"
		fi
	done
	[ ${#parts[@]} -gt 0 ] || parts=("${default_parts[@]}")
	prepare_tests
	for p in "${parts[@]}"; do
		echo "== $p"
		"part_$p" || failed=1
		# A part that died before it could write its results must not vanish from the sum.
		[ -s "$results/$p.xml" ] || junit_one "$p" fail || true
	done
	/usr/bin/python3 tests/summary.py "$results"/*.xml || failed=1
	rm -rf "$results"
	return $failed
}
