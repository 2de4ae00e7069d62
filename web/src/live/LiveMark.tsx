/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether what is shown follows the server. Nothing on pages that do not. */

import { useEffect, useState } from "preact/hooks";
import { useLiveState } from "./live";

export function LiveMark() {
  const live = useLiveState();
  const [now, setNow] = useState(Date.now);
  const stalled = live.kind === "stalled";
  useEffect(() => {
    if (!stalled) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [stalled]);
  if (live.kind === "off") return null;
  const age = Math.max(0, Math.round((now - live.since) / 1000));
  return (
    <span
      class={`live-mark ${live.kind}`}
      title={
        stalled
          ? `${live.why}; what you see is from then. It goes on by itself.`
          : "This page changes when the server's data do."
      }
    >
      <span aria-hidden="true">{stalled ? "◐" : live.kind === "live" ? "●" : "○"}</span>{" "}
      <span role="status">{stalled ? "not live" : live.kind === "live" ? "live" : "connecting"}</span>
      {stalled && <span aria-hidden="true"> for {age} s</span>}
    </span>
  );
}

/** Above a page's content: no number may look fresh while it is not. */
export function StalledNote() {
  const live = useLiveState();
  if (live.kind !== "stalled") return null;
  return (
    <p class="notice warn stalled-note">
      <strong>Not live:</strong> {live.why}. What you see is as it was; the page goes on by itself when the
      server answers.
    </p>
  );
}
