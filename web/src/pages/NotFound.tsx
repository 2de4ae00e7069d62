/* SPDX-License-Identifier: GPL-2.0-or-later */
import { Heading, useTitle } from "../ui/bits";

export function NotFound({ path }: { path: string }) {
  useTitle("No such page");
  return (
    <>
      <Heading>No such page</Heading>
      <p>
        There is nothing at <code>{path}</code>. The <a href="/">fleet</a>, the{" "}
        <a href="/runs">runs</a> and the <a href="/compare">comparison page</a> are where most links
        lead.
      </p>
    </>
  );
}
