/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measuring cost the box, by probe: the agent's own CPU time and, estimated, what the kernel
 * spent for the probe in the programs under test. */

import { sig3 } from "../lib/format";
import { Scroll } from "../ui/bits";

interface ProbeCost {
  probe: string;
  cpu_ns: number;
  kernel_ns: number | null;
  budget: number | null;
  divisor: number;
}

export function ProbeCosts({ cost }: { cost: Record<string, unknown> }) {
  const probes = Array.isArray(cost.probes) ? (cost.probes as ProbeCost[]) : [];
  const elapsed = typeof cost.elapsed_ns === "number" ? cost.elapsed_ns : 0;
  if (probes.length === 0 || elapsed <= 0) return null;
  const share = (ns: number) => `${sig3((100 * ns) / elapsed)} %`;
  return (
    <section aria-labelledby="cost-title">
      <h2 id="cost-title">Cost of measuring</h2>
      <p class="muted">
        In percent of one CPU, warm-up included. The kernel's part is an estimate.
      </p>
      <Scroll label="Cost of measuring">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">probe</th>
              <th scope="col" class="num">
                agent
              </th>
              <th scope="col" class="num">
                in the kernel
              </th>
              <th scope="col" class="num">
                budget
              </th>
              <th scope="col">rate</th>
            </tr>
          </thead>
          <tbody>
            {probes.map((p) => (
              <tr key={p.probe}>
                <th scope="row">{p.probe}</th>
                <td class="num">{share(p.cpu_ns)}</td>
                <td class="num">
                  {p.kernel_ns === null ? (
                    <span class="na">not known</span>
                  ) : (
                    share(p.kernel_ns)
                  )}
                </td>
                <td class="num">{p.budget === null ? "" : `${sig3(100 * p.budget)} %`}</td>
                <td>
                  {p.divisor > 1 ? (
                    <span class="word tone-bad">cut to 1/{p.divisor}</span>
                  ) : (
                    "full"
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
