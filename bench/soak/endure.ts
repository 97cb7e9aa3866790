import { setTimeout as pause } from "node:timers/promises";
import { head, median, row } from "../table.ts";
import type { SoakArguments } from "./arguments.ts";
import { type Book, book } from "./book.ts";
import { client } from "./client.ts";
import { type Drift, driftOf, FEWEST_POINTS } from "./drift.ts";
import { others } from "./others.ts";
import { type Traffic, traffic } from "./pace.ts";
import { type Pests, pests } from "./pests.ts";
import { measure, pointsOf, type Reading, WATCHED } from "./readings.ts";
import { requests } from "./requests.ts";
import { type SetUp, setUp } from "./set-up.ts";

export interface Endured {
  passed: boolean;
  /** What was not as it should be, drift apart. */
  wrong: readonly string[];
  drifts: readonly (Drift & { title: string })[];
  counts: Book["counts"];
  totals: Traffic["totals"];
}

/** Enough to keep all cores busy, and not so many that they wait for each other. */
const AT_ONCE = 64;
/** Of the run: what fills up and gets warm does so in its beginning. */
const WARM_UP_SHARE = 0.2;
const READINGS = 90;
const LONGEST_READING_SECONDS = 10;
const LINE_SECONDS = 10;
const CAPACITY_SECONDS = 60;
/** Of the requests: refused with 503, or not sent because too many were under way. */
const MOST_REFUSED_SHARE = 0.01;
/** Longer than a callback that was refused once takes. */
const LAST_WAIT_MS = 120_000;

type Say = (line: string) => void;

/** One run, from measuring the capacity to the verdict. */
export async function endure(asked: SoakArguments, say: Say): Promise<Endured> {
  const kept = book();
  const seconds = asked.minutes * 60;
  await using service = await setUp(asked);
  await using world = await others(kept);
  using asking = client(service.port);
  const key = await asking.ask({ method: "GET", path: "/.well-known/lazaret/callback-key.pem" });
  world.trust(String(key.said));
  const parts = { client: asking, files: service.files, others: world, book: kept };
  const all = requests({ ...parts, objects: service.objects });
  // From now on each object has its tag, which is a file.
  for (let number = 0; number < service.objects.size; number += 1) await all.object.run(number);
  const flow = traffic(all, kept);
  const bad = pests({ ...parts, idle: asked.idle });

  const rate = asked.rate ?? asked.share * (await capacity(flow, { seconds, share: asked.share, say }));
  // Whoever names a rate has nothing warm yet.
  if (asked.rate !== undefined) await flow.hold(rate, Math.min(CAPACITY_SECONDS, seconds / 4));
  await flow.settled();
  flow.look();
  const watching = watch({ service, flow, pests: bad, book: kept, seconds, say });
  await Promise.race([flow.hold(rate, seconds), watching.ended]);
  const readings = watching.stop();
  await bad.stop();
  await lastOnes(flow, kept);
  kept.close();

  const { totals } = flow;
  const refused = totals.refused + totals.leftOut;
  if (refused > MOST_REFUSED_SHARE * totals.due) {
    kept.note(`${refused} of ${totals.due} requests were refused, or left out because too many were under way`);
  }
  if (service.ended) kept.note(service.ended);
  const judgedFrom = seconds * WARM_UP_SHARE;
  const drifts = judge(readings, judgedFrom);
  if (readings.length < FEWEST_POINTS) kept.note(`only ${readings.length} readings: nothing can be said of them`);
  const passed = kept.counts.wrong === 0 && drifts.every((each) => !each.drifts);

  say("");
  for (const line of table(drifts)) say(line);
  say("");
  for (const line of inWords({ rate, totals, book: kept, pests: bad, readings, refusedCallbacks: world.refused }))
    say(line);
  for (const what of kept.wrong) say(`NOT WELL: ${what}`);
  if (kept.counts.wrong > kept.wrong.length) say(`NOT WELL: and ${kept.counts.wrong - kept.wrong.length} more`);
  for (const { title, first, last, drifts: drifting } of drifts) {
    if (drifting) say(`NOT WELL: ${title} drifts, from ${first.toFixed(1)} to ${last.toFixed(1)}`);
  }
  say(passed ? "passed: nothing drifts, no verdict was wrong, nothing was lost" : "failed");
  return { passed, wrong: kept.wrong, drifts, counts: kept.counts, totals };
}

async function capacity(flow: Traffic, options: { seconds: number; share: number; say: Say }): Promise<number> {
  const { share, say } = options;
  // A short run is a try: it need not be more exact than it is long.
  const forSeconds = Math.min(CAPACITY_SECONDS, Math.max(5, options.seconds / 4));
  // Compilers and caches first.
  await flow.fill(forSeconds / 4, AT_ONCE);
  const perSecond = await flow.fill(forSeconds, AT_ONCE);
  const words = `capacity: ${perSecond.toFixed(0)} requests/s, ${AT_ONCE} at once over ${forSeconds.toFixed(0)} s`;
  say(`${words}; held is ${(share * 100).toFixed(0)} % of it, ${(share * perSecond).toFixed(1)}/s`);
  return perSecond;
}

interface WatchParts {
  service: SetUp;
  flow: Traffic;
  pests: Pests;
  book: Book;
  seconds: number;
  say: Say;
}

/** Reads everything again and again until it is stopped; `ended` resolves early if the service is gone. */
function watch({ service, flow, pests, book, seconds, say }: WatchParts): {
  ended: Promise<void>;
  stop(): Reading[];
} {
  const everySeconds = Math.min(LONGEST_READING_SECONDS, seconds / READINGS);
  const readings: Reading[] = [];
  const began = performance.now();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let saidAt = 0;
  let since = { done: 0, refused: 0 };
  say("      s  done/s  503  p99 ms   rss MB  clamd MB  handles  files   db MB  idle  jobs owed  wrong");

  const read = (): void => {
    if (service.ended !== undefined) {
      resolve();
      return;
    }
    const at = (performance.now() - began) / 1000;
    const reading = { seconds: at, ...measure(service.places), ...flow.look(), idle: pests.idle };
    readings.push(reading);
    since = { done: since.done + reading.done, refused: since.refused + reading.refused };
    if (at - saidAt < LINE_SECONDS - everySeconds / 2) return;
    say(line(reading, { ...since, perSecond: since.done / (at - saidAt), book }));
    since = { done: 0, refused: 0 };
    saidAt = at;
  };
  const timer = setInterval(read, everySeconds * 1000);
  return {
    ended,
    stop() {
      clearInterval(timer);
      return readings;
    },
  };
}

function line(
  reading: Reading,
  { perSecond, refused, book }: { perSecond: number; refused: number; book: Book },
): string {
  const columns: [string, number][] = [
    [reading.seconds.toFixed(0), 7],
    [perSecond.toFixed(1), 8],
    [String(refused), 5],
    [reading.p99?.toFixed(0) ?? "-", 8],
    [reading.rssMb.toFixed(0), 9],
    [reading.clamdMb.toFixed(0), 10],
    [String(reading.handles), 9],
    [String(reading.files), 7],
    [reading.databaseMb.toFixed(1), 8],
    [String(reading.idle), 6],
    [String(book.owed), 11],
    [String(book.counts.wrong), 7],
  ];
  return columns.map(([value, width]) => value.padStart(width)).join("");
}

/** What is under way comes to its end, if it has one. */
async function lastOnes(flow: Traffic, book: Book): Promise<void> {
  const until = performance.now() + LAST_WAIT_MS;
  let settled = false;
  void flow.settled().then(() => {
    settled = true;
  });
  while ((!settled || book.owed > 0) && performance.now() < until) await pause(50);
}

function judge(readings: readonly Reading[], judgedFrom: number): (Drift & { title: string; unit: string })[] {
  const judged = readings.filter(({ seconds }) => seconds >= judgedFrom);
  return WATCHED.map((watched) => {
    const { title, unit, bound } = watched;
    return { title, unit, ...driftOf(pointsOf(watched, judged), bound) };
  });
}

function table(drifts: readonly (Drift & { title: string; unit: string })[]): string[] {
  const lines = drifts.map(({ title, unit, first, last, growth, allowed, drifts: drifting }) => {
    const value = (number: number): string => `${number.toFixed(1)}${unit && ` ${unit}`}`;
    return row(title, value(first), value(last), value(growth), value(allowed), drifting ? "**drifts**" : "holds");
  });
  return [head("", "first third", "last third", "gain of the line", "bound", ""), ...lines];
}

function inWords(run: {
  rate: number;
  totals: Traffic["totals"];
  book: Book;
  pests: Pests;
  readings: readonly Reading[];
  refusedCallbacks: number;
}): string[] {
  const { rate, totals, book, pests, readings } = run;
  const { acknowledged, ended, unanswered, refused } = book.counts;
  const { idle: _, ...bad } = pests.counts;
  const listed = Object.entries(bad).map(([name, count]) => `${name} ${count}`);
  return [
    `Requests, those that measured the capacity included: ${totals.done} done, ${totals.refused} refused with 503, ${totals.leftOut} left out. Held: ${rate.toFixed(1)}/s.`,
    `Jobs: ${acknowledged} acknowledged, ${book.owed} of them lost; ${unanswered} hung up on, ${refused} refused; ${ended} results, ${run.refusedCallbacks} callbacks refused once.`,
    `Bad clients: ${listed.join(", ")}; idle connections: ${median(readings.map(({ idle }) => idle))}.`,
  ];
}
