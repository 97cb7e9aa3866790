/**
 * Scans with engine P alone, over and over, and fails if its memory or its time per scan does not stay as it is.
 *
 *   npm run soak -- --scans 1000000 [--files mixed|texts|text|zips|cabs|infected|large] [--at-once 8] [--every 10000]
 *
 * One line for every so many scans: time by the clock and of the processors, the least JavaScript heap that was seen
 * (of all scan threads, and of the main one), resident memory, and how many scan threads have been started.
 */
import { parseArgs } from "node:util";
import { fileTypeOf } from "../../packages/server/src/engines/file-type/file-type.ts";
import { ruleThreads } from "../../packages/server/src/engines/threads/scan-threads.ts";
import { unpackingEngine } from "../../packages/server/src/engines/unpacking-engine.ts";
import { cab } from "../../packages/server/test/fixtures/archives.ts";
import { deflated, zip } from "../../packages/server/test/fixtures/zip-writer.ts";
import { eicar } from "../../packages/server/test/support/eicar.ts";

interface Sample {
  content: Uint8Array;
  verdict: "clean" | "infected";
}

/** What is measured over one stretch of scans. */
interface Stretch {
  wallMs: number;
  cpuMs: number;
  threadHeapMb: number;
  mainHeapMb: number;
  rssMb: number;
  threads: number;
}

/** How much more than in the second quarter the last one may have: what is given to the noise of a shared machine. */
const MOST = { cpuMs: 1.5, threadHeapMb: 1.25, mainHeapMb: 1.25, rssMb: 1.2 } as const;

const sentence = "A text as people write it, about nothing in particular, and a little different each time: ";
const text = (number: number): Sample => ({
  content: Buffer.from(`${sentence.repeat(1 + (number % 30))}${number}`),
  verdict: "clean",
});
const readme = deflated("readme.txt", Buffer.from(sentence.repeat(20)));
const infected = zip([readme, deflated("test.txt", eicar())]);
const clean = zip([readme, deflated("b.txt", Buffer.from(sentence))]);
const by7Zip = cab(Buffer.from(sentence));
const large = Buffer.alloc(20_000_000, sentence);

const kinds: Record<string, (number: number) => Sample> = {
  text: () => text(1),
  texts: text,
  zips: () => ({ content: clean, verdict: "clean" }),
  infected: (number) => ({ content: number % 2 === 0 ? infected : eicar(), verdict: "infected" }),
  cabs: () => ({ content: by7Zip, verdict: "clean" }),
  large: () => ({ content: large, verdict: "clean" }),
  mixed: (number) => {
    if (number % 5000 === 4999) return { content: large, verdict: "clean" };
    if (number % 100 === 0) return { content: by7Zip, verdict: "clean" };
    if (number % 20 < 6) return { content: clean, verdict: "clean" };
    if (number % 20 < 8) return { content: number % 2 === 0 ? infected : eicar(), verdict: "infected" };
    return text(number);
  },
};

const { values } = parseArgs({
  options: {
    scans: { type: "string", default: "1000000" },
    files: { type: "string", default: "mixed" },
    "at-once": { type: "string", default: "8" },
    every: { type: "string", default: "10000" },
  },
});
const [scans, atOnce, every] = [Number(values.scans), Number(values["at-once"]), Number(values.every)];
const sampleOf = kinds[values.files];
if (!sampleOf || ![scans, atOnce, every].every((number) => Number.isInteger(number) && number > 0)) {
  console.error(`soak: files are one of ${Object.keys(kinds).join(", ")}; scans, at-once and every are whole numbers`);
  process.exit(1);
}

const never = new AbortController().signal;
const problems: string[] = [];
const threads = await ruleThreads({
  onEvent: (event) => void (event.kind === "thread_lost" && problems.push(`a thread was lost: ${event.message}`)),
});
const engine = unpackingEngine({ threads, fileType: fileTypeOf });
console.log("   scans  ms/scan  cpu ms/scan  thread heap MB  main heap MB  rss MB  threads started");
const stretches: Stretch[] = [];
let begun = 0;
let done = 0;
for (let start = startStretch(); done < scans; start = startStretch()) {
  await Promise.all(Array.from({ length: atOnce }, () => scanUntil(Math.min(scans, start.scans + every), start)));
  const stretch = start.end(done - start.scans);
  stretches.push(stretch);
  console.log(line(done, stretch));
}
await engine.close();
problems.push(...growth(stretches));
for (const problem of problems.slice(0, 20)) console.log(`NOT WELL: ${problem}`);
console.log(problems.length === 0 ? `flat over ${done} scans` : `${problems.length} problems in ${done} scans`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function scanUntil(end: number, { look }: { look(): void }): Promise<void> {
  while (begun < end) {
    const number = begun;
    begun += 1;
    const { content, verdict } = sampleOf?.(number) ?? text(number);
    const seen = await engine.scan(pieces(content), never);
    if (seen.kind !== verdict) problems.push(`scan ${number} is ${JSON.stringify(seen)}, not ${verdict}`);
    done += 1;
    if (done % 50 === 0) look();
  }
}

async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

/** The heap is looked at often: the least of it is what is there when the garbage has just been collected. */
function startStretch(): { scans: number; look(): void; end(count: number): Stretch } {
  const [startedAt, cpu] = [performance.now(), process.cpuUsage()];
  const least = { thread: Number.POSITIVE_INFINITY, main: Number.POSITIVE_INFINITY };
  const look = (): void => {
    least.thread = Math.min(least.thread, threads.census()?.memory.heapBytes ?? 0);
    least.main = Math.min(least.main, process.memoryUsage().heapUsed);
  };
  return {
    scans: done,
    look,
    end(count) {
      look();
      const { user, system } = process.cpuUsage(cpu);
      return {
        wallMs: (performance.now() - startedAt) / count,
        cpuMs: (user + system) / 1000 / count,
        threadHeapMb: least.thread / 1e6,
        mainHeapMb: least.main / 1e6,
        rssMb: process.memoryUsage.rss() / 1e6,
        threads: threads.census()?.started ?? 0,
      };
    },
  };
}

function line(count: number, { wallMs, cpuMs, threadHeapMb, mainHeapMb, rssMb, threads: started }: Stretch): string {
  const columns: [string, number][] = [
    [String(count), 8],
    [wallMs.toFixed(3), 9],
    [cpuMs.toFixed(3), 13],
    [threadHeapMb.toFixed(1), 16],
    [mainHeapMb.toFixed(1), 14],
    [rssMb.toFixed(0), 8],
    [String(started), 17],
  ];
  return columns.map(([value, width]) => value.padStart(width)).join("");
}

/** The first quarter is for warming up. */
function growth(all: readonly Stretch[]): string[] {
  const quarter = Math.floor(all.length / 4);
  if (quarter === 0) return ["too few lines to compare: more scans, or a smaller --every"];
  const [second, last] = [all.slice(quarter, 2 * quarter), all.slice(-quarter)];
  const found: string[] = [];
  for (const part of ["cpuMs", "threadHeapMb", "mainHeapMb", "rssMb"] as const) {
    const [before, after] = [median(second.map((one) => one[part])), median(last.map((one) => one[part]))];
    if (after > before * MOST[part]) found.push(`${part} went from ${before.toFixed(2)} to ${after.toFixed(2)}`);
  }
  const [before, after] = [second[0]?.threads ?? 0, last.at(-1)?.threads ?? 0];
  if (after > before) found.push(`${after - before} threads had to be replaced since the first quarter`);
  return found;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
