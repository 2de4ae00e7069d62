# SPDX-License-Identifier: GPL-2.0-or-later
# PostgreSQL for one database and one role; the password comes from a file.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
data=/var/lib/postgresql/data/pg
if [ ! -s "$data/PG_VERSION" ]; then
	rm -rf "$data"
	"$bin/initdb" -D "$data" -U rigstat --pwfile=/run/secrets/db_password -A scram-sha-256 -E UTF8 --locale=C.UTF-8 >/dev/null
	echo 'host all rigstat 0.0.0.0/0 scram-sha-256' >>"$data/pg_hba.conf"
	printf 'create database rigstat;\n' | "$bin/postgres" --single -D "$data" postgres >/dev/null
fi
exec "$bin/postgres" -D "$data" -c listen_addresses='*' -c unix_socket_directories=/tmp
