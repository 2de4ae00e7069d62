/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/identity.h"

#include <pwd.h>
#include <unistd.h>

#include "common/base.h"

char *identity(const char *as)
{
	const struct passwd *pw;
	char host[65] = "";

	if (as)
		return xstrdup(as);
	pw = getpwuid(getuid());
	(void)gethostname(host, sizeof(host) - 1);
	return pw ? xasprintf("%s@%s", pw->pw_name, host)
		  : xasprintf("%u@%s", (unsigned int)getuid(), host);
}
