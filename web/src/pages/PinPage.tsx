/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /c/{pin}: a comparison as it was when it was pinned. */

import { useEffect } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { Pin } from "../api/types";
import { CompareView, docsOf, titleOf } from "../compare/View";
import { onKeys } from "../lib/keys";
import { setQuery, usePlace } from "../lib/router";
import { one, tidy } from "../lib/urlstate";
import { Heading, Show, Time, useTitle } from "../ui/bits";

export function PinPage({ id }: { id: string }) {
  const { query } = usePlace();
  const url = `${API}/comparisons/${encodeURIComponent(id)}`;
  const pin = useApi<Pin>(url);
  const result = pin.data?.result;
  useTitle(pin.data?.title ?? (result ? titleOf(docsOf(result).docs) : `Pinned ${id}`));
  useEffect(
    () =>
      onKeys({
        t: () =>
          setQuery(
            { tables: one(query, "tables") ? null : "histogram,percentiles,shift,ccdf,runs" },
            "replace",
          ),
      }),
    [query],
  );
  return (
    <Show from={pin} what="the pinned comparison">
      {(p) =>
        p.result ? (
          <CompareView
            answer={p.result}
            query={query}
            pinned
            urls={{
              json: `${url}?format=result`,
              text: `${url}?format=text`,
              csv: `${url}?format=csv`,
              markdown: `${url}?format=markdown`,
              svg: (chart) => `${url}?format=svg&chart=${chart}`,
            }}
            actions={
              <a class="button" href={tidy(p.links.live)}>
                Compare again, live
              </a>
            }
            before={
              <p class="notice">
                {p.title && <strong>{p.title}. </strong>}
                Pinned <Time at={p.created} /> by version {p.server}, method {p.method}: fixed runs,
                fixed result. {p.note}
              </p>
            }
          />
        ) : (
          <Heading>Pinned {id}</Heading>
        )
      }
    </Show>
  );
}
