# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Agent and command in one directory that may lie anywhere: test boxes run odd distributions. All
# libraries are linked in but glibc and libcurl (which brings the box's TLS). Sourced by
# packaging/build.

static_options() {
	local lib
	lib=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	# Linked by name: a directory in front that has nothing but the static one.
	mkdir -p "$out/static"
	ln -sf /usr/lib/libRmath.a "$out/static/libRmath.a"
	printf '%s\n' "-DCMAKE_EXE_LINKER_FLAGS=$LDFLAGS -L$out/static" \
		-Dpkgcfg_lib_JANSSON_jansson="$lib/libjansson.a" \
		-Dpkgcfg_lib_UV_uv="$lib/libuv_a.a" \
		-Dpkgcfg_lib_ZLIB_z="$lib/libz.a" \
		-DPFM_LIBRARY="$lib/libpfm.a" \
		"-Dpkgcfg_lib_BPF_bpf=$lib/libbpf.a;$lib/libelf.a;$lib/libz.a"
}

build_tarball() {
	local name dir p
	name=rigstat-$version-linux-$(uname -m)
	dir=$out/$name
	rm -rf "$dir" "$source/tarball"
	# The flags of the packages, so that a compiler cache has the objects already.
	(
		cd "$source"
		eval "$(DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --export=sh)"
		mapfile -t options < <(static_options)
		cmake -S . -B tarball -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
			-DCMAKE_INSTALL_PREFIX="$dir" -DCMAKE_INSTALL_LIBEXECDIR=libexec \
			-DRIGSTAT_SERVER=OFF -DRIGSTAT_TESTS=OFF "${options[@]}"
		ninja -C tarball rigstat rigstat-agent rigstat-tune
		cmake --install tarball --component agent --strip
		cmake --install tarball --component cli --strip
	) >"$out/tarball.log" 2>&1 || {
		tail -40 "$out/tarball.log" >&2
		echo "package: the tarball failed; all of it is in $out/tarball.log" >&2
		exit 1
	}
	cp LICENSE README.md "$dir/"
	for p in bin/rigstat bin/rigstat-agent; do
		printf '%s needs: ' "$p"
		objdump -p "$dir/$p" |
			awk '/NEEDED/ { printf "%s ", $2 } END { print "" }'
	done
	tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime="@$SOURCE_DATE_EPOCH" -c "$name" | gzip -9n >"$dir.tar.gz"
}
