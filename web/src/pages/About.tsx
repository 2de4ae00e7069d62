/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /about: what this server is and how full it is. */

import { API, useApi } from "../api/client";
import type { Status } from "../api/types";
import { fmtBytes, group } from "../lib/format";
import { Facts, Heading, Show, Time, useTitle } from "../ui/bits";

export function AboutPage() {
  useTitle("About");
  const status = useApi<Status>(`${API}/status`);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>About this server</Heading>
          <p class="sub">Grafana is for watching; rigstat is for deciding.</p>
        </div>
        <div class="actions">
          <a class="button" href="/settings">
            Settings
          </a>
        </div>
      </header>
      <Show from={status} what="the server's state">
        {(s) => (
          <Facts
            items={[
              ["rigstat-server", s.version],
              ["statistics", `method ${s.method}`],
              ["PostgreSQL", `${s.database.version}, schema ${s.database.schema}`],
              ["database size", fmtBytes(s.database.bytes)],
              ["server time", <Time at={s.now} seconds />],
              ...Object.entries(s.counts).map(
                ([k, n]) => [k.replace(/_/g, " "), group(n)] as const,
              ),
              [
                "waiting to be packed",
                s.staging ? `${group(s.staging.rows)} batches, ${fmtBytes(s.staging.bytes)}` : null,
              ],
            ]}
          />
        )}
      </Show>
      <section aria-labelledby="free-title">
        <h2 id="free-title">Free software</h2>
        <p>
          rigstat is GPL-2.0-or-later. These pages use Preact and uPlot, both under the MIT licence.
          They ask no other server for anything: every request goes to the address in the address
          bar.
        </p>
      </section>
    </>
  );
}
