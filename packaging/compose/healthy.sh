# SPDX-License-Identifier: GPL-2.0-or-later
# Status 0 when the server says that it is ready.
exec 3<>/dev/tcp/127.0.0.1/8420 || exit 1
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 2 _ status _ <&3 && [ "$status" = 200 ]
