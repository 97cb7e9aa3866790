import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clamd } from "../packages/server/src/engines/clamd/clamd.ts";
import { type CorpusFile, containersOfAllKinds } from "../packages/server/test/fixtures/corpus/corpus.ts";
import { type Evasion, evasions } from "../packages/server/test/fixtures/corpus/evasions.ts";
import { byHash, byRule, type Payload } from "../packages/server/test/fixtures/corpus/payloads.ts";
import { ask, startSetUps } from "../packages/server/test/fixtures/corpus/set-ups.ts";

/** An evasion's answers: the worst of its containers, by name. */
export interface EvasionAnswers {
  evasion: Evasion;
  lazaret: string;
  clamd: string;
}

const AT_ONCE = 2;
const WORST_FIRST = ["failed", "clean", "no", "infected"];

/** Shows the containers of every evasion to Lazaret in each set-up, and to clamd by itself. */
export async function answerEvasions(): Promise<EvasionAnswers[]> {
  const folder = mkdtempSync(join(tmpdir(), `lazaret-test-${process.pid}-evasions-`));
  try {
    await using setUps = await startSetUps(folder, AT_ONCE);
    const alone = clamd({ address: setUps.clamdAddress, concurrency: AT_ONCE });
    const answers: EvasionAnswers[] = [];
    try {
      for (const evasion of evasions) {
        const ours: string[] = [];
        const theirs: string[] = [];
        for (const path of evasion.containers) {
          for (const payload of [byHash, byRule]) {
            for (const { status } of await ask(setUps, fileOf(path, payload)))
              ours.push(status === "other" ? "no" : status);
          }
          const file = fileOf(path, byHash).make();
          const verdict = await alone.scan(once(file), AbortSignal.timeout(60_000));
          theirs.push(verdict.kind === "unscannable" ? "no" : verdict.kind);
        }
        answers.push({ evasion, lazaret: worst(ours), clamd: worst(theirs) });
      }
    } finally {
      await alone.close();
    }
    return answers;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function evasionsPage(answers: readonly EvasionAnswers[]): string {
  const rows = answers.map(({ evasion: { name, does, containers }, lazaret, clamd }) => {
    const files = containers.map((path) => `\`${path}\``).join("<br>");
    return `| ${name} | ${does} | ${lazaret} | ${clamd === "clean" ? "**clean**" : clamd} | ${files} |`;
  });
  return [
    "# Published evasions",
    "",
    "Ways to hide a file from a scanner, by the name they were published under. Each was tried with a harmless payload that only a signature of",
    "clamd knows, and with one that only a rule knows, on both engines. An answer is the worst of its files; `no` means refused, not scanned.",
    "The column *clamd* is the answer of clamd 1.4 by itself, with [our configuration](../deploy/clamd.conf). This page is generated:",
    "`npm run evasions-page` scans every file again, and `npm test` fails when an answer of Lazaret has changed.",
    "",
    "To get a file, give its name to the proof: `npm run proof -- --save evasions --only 'a comment longer than said'` writes it into the folder",
    "`evasions`, alone and in other containers. [What is unpacked](unpacking.md) says where the proof ends.",
    "",
    "| evasion | what it does | Lazaret | clamd | files |",
    "|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function fileOf(path: string, payload: Payload): CorpusFile {
  const container = containersOfAllKinds.find(({ kind, name }) => `${kind}/${name}` === path);
  if (!container) throw new Error(`the corpus has no container ${path}`);
  const make = (): Buffer => container.wrap(payload.content, "sample.txt");
  return { kind: container.kind, name: path, layers: [container], payload, make };
}

function worst(statuses: readonly string[]): string {
  return WORST_FIRST.find((status) => statuses.includes(status)) ?? "not tried";
}

async function* once(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content;
}
