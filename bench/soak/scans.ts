/**
 * Scans texts, zips, infected files, cabinets and large files with engine P alone, over and over, and fails if its memory or its time
 * per scan does not stay as it is, or if threads are replaced: `npm run soak -- --scans 1000000`.
 */
import { fileTypeOf } from "../../packages/server/src/engines/file-type/file-type.ts";
import { ruleThreads } from "../../packages/server/src/engines/threads/scan-threads.ts";
import { unpackingEngine } from "../../packages/server/src/engines/unpacking-engine.ts";
import { cab } from "../../packages/server/test/fixtures/archives.ts";
import { deflated, zip } from "../../packages/server/test/fixtures/zip-writer.ts";
import { eicar } from "../../packages/server/test/support/eicar.ts";
import { head, median, row } from "../table.ts";

interface Stretch {
  cpuMs: number;
  /** The least that was seen, of all scan threads: what is there when the garbage has just been collected. */
  heapMb: number;
  rssMb: number;
  threads: number;
}

const AT_ONCE = 8;
const STRETCHES = 20;
/** How much more than in the second quarter the last one may have: what is given to the noise of a shared machine. */
const MOST = { cpuMs: 1.5, heapMb: 1.25, rssMb: 1.2 } as const;

const sentence = "A text as people write it, about nothing in particular, and a little different each time: ";
const readme = deflated("readme.txt", Buffer.from(sentence.repeat(20)));
const infected = zip([readme, deflated("test.txt", eicar())]);
const clean = zip([readme, deflated("b.txt", Buffer.from(sentence))]);
const by7Zip = cab(Buffer.from(sentence));
const large = Buffer.alloc(20_000_000, sentence);

function fileAt(number: number): { content: Buffer; kind: "clean" | "infected" } {
  if (number % 5000 === 4999) return { content: large, kind: "clean" };
  if (number % 100 === 0) return { content: by7Zip, kind: "clean" };
  if (number % 20 < 6) return { content: clean, kind: "clean" };
  if (number % 20 < 8) return { content: number % 2 === 0 ? infected : eicar(), kind: "infected" };
  return { content: Buffer.from(`${sentence.repeat(1 + (number % 30))}${number}`), kind: "clean" };
}

/** Returns whether all stayed as it was. */
export async function endureScans(scans: number, say: (line: string) => void): Promise<boolean> {
  const problems: string[] = [];
  const threads = await ruleThreads({
    onEvent: (event) => void (event.kind === "thread_lost" && problems.push(`a thread was lost: ${event.message}`)),
  });
  const engine = unpackingEngine({ threads, fileType: fileTypeOf });
  const never = new AbortController().signal;
  const heapMb = (): number => (threads.census()?.memory.heapBytes ?? 0) / 1e6;
  const stretches: Stretch[] = [];
  let begun = 0;

  say(head("scans", "CPU ms/scan", "thread heap MB", "RSS MB", "threads started"));
  while (begun < scans) {
    const [first, end] = [begun, Math.min(scans, begun + Math.ceil(scans / STRETCHES))];
    const before = process.cpuUsage();
    let least = Number.POSITIVE_INFINITY;
    const scanOn = async (): Promise<void> => {
      while (begun < end) {
        const number = begun;
        begun += 1;
        const { content, kind } = fileAt(number);
        const verdict = await engine.scan(pieces(content), never);
        if (verdict.kind !== kind) problems.push(`scan ${number} is ${JSON.stringify(verdict)}, not ${kind}`);
        if (number % 50 === 0) least = Math.min(least, heapMb());
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, scanOn));
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1000 / (end - first);
    const [rssMb, started] = [process.memoryUsage.rss() / 1e6, threads.census()?.started ?? 0];
    stretches.push({ cpuMs, heapMb: Math.min(least, heapMb()), rssMb, threads: started });
    say(row(end, cpuMs.toFixed(3), stretches.at(-1)?.heapMb.toFixed(1) ?? "", rssMb.toFixed(0), started));
  }
  await engine.close();
  problems.push(...growth(stretches));
  for (const problem of problems.slice(0, 20)) say(`NOT WELL: ${problem}`);
  say(problems.length === 0 ? `flat over ${scans} scans` : `${problems.length} problems in ${scans} scans`);
  return problems.length === 0;
}

async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

/** The first quarter is for warming up. */
function growth(all: readonly Stretch[]): string[] {
  const quarter = Math.max(1, Math.floor(all.length / 4));
  const [second, last] = [all.slice(quarter, 2 * quarter), all.slice(-quarter)];
  const found = (["cpuMs", "heapMb", "rssMb"] as const).flatMap((part) => {
    const [before, after] = [median(second.map((one) => one[part])), median(last.map((one) => one[part]))];
    return after > before * MOST[part] ? [`${part} went from ${before.toFixed(2)} to ${after.toFixed(2)}`] : [];
  });
  const replaced = (last.at(-1)?.threads ?? 0) - (second[0]?.threads ?? 0);
  return replaced > 0 ? [...found, `${replaced} threads had to be replaced since the first quarter`] : found;
}
