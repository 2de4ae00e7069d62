/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /problems/{slug}: what a problem's `type` link leads to. */

import { Heading, useTitle } from "../ui/bits";

export function ProblemPage({ slug }: { slug: string }) {
  const name = slug.replace(/-/g, " ");
  useTitle(`Problem: ${name}`);
  return (
    <>
      <Heading>Problem: {name}</Heading>
      <p>
        Answers of the API that failed carry <code>"type": "/problems/{slug}"</code>. The members
        that help are <code>detail</code> (what, and where in the request), <code>hint</code> (what
        to do) and <code>request_id</code> (the same id is in the server's log).
      </p>
      <p>
        <a href="/docs/api">The API and the selector grammar</a>
      </p>
    </>
  );
}
