# SPDX-License-Identifier: GPL-2.0-or-later
# The password of the database goes from its file to libpq, not through the environment.
set -eu
umask 077
printf 'db:5432:rigstat:rigstat:%s\n' "$(cat /run/secrets/db_password)" >/tmp/pgpass
export PGPASSFILE=/tmp/pgpass
export RIGSTAT_DATABASE='host=db dbname=rigstat user=rigstat connect_timeout=5 keepalives_idle=30'
rigstat-server migrate
exec rigstat-server serve --listen 0.0.0.0:8420 --token-file /run/secrets/token --anonymous read
