import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { head, row } from "../table.ts";
import type { JobUrls } from "./loopback.ts";
import { type Side, type SideOptions, startLazaret, startPeer } from "./sides.ts";
import { submit } from "./submits.ts";
import { readTraces, strace } from "./traced-syncs.ts";

const AT_ONCE = [1, 16, 64];
const SUBMITS = 500;

/**
 * Shows that an acknowledged job is on disk: under strace, in a run of its own because strace slows everything down, a
 * sync must be done between the reading of each request and the writing of its answer. Throws if one is missing.
 */
export async function showSyncs(options: SideOptions, urls: JobUrls): Promise<void> {
  const examples: string[] = [];
  console.log(head("at once, under strace", "", "submits", "synced before the answer", "syncs per submit"));
  for (const connections of AT_ONCE) {
    for (const start of [startLazaret, startPeer]) {
      const folder = join(options.folder, `${start.name}-${connections}`);
      mkdirSync(folder, { recursive: true });
      const side: Side = await start({ ...options, folder, under: (name) => strace(folder, name) });
      await submit(side, urls, { connections, atMost: SUBMITS }).finally(() => side.stop());
      const { submits, syncs } = readTraces(folder);
      const synced = submits.filter(({ syncedAt }) => syncedAt !== undefined);
      console.log(row(connections, side.name, submits.length, synced.length, (syncs / submits.length).toFixed(2)));
      if (submits.length !== SUBMITS || synced.length !== SUBMITS)
        throw new Error(`${side.name}: ${SUBMITS} submits, ${submits.length} traced, ${synced.length} synced`);
      const { requestAt, syncedAt = 0, answerAt } = synced.at(-1) ?? { requestAt: 0, answerAt: 0 };
      const ms = (at: number): string => `${((at - requestAt) * 1000).toFixed(2)} ms`;
      if (connections === 1)
        examples.push(`${side.name}: request read, sync done ${ms(syncedAt)} later, answer written at ${ms(answerAt)}`);
    }
  }
  console.log(`\nThe last submit of the first run, in order. ${examples.join(". ")}.\n`);
}
