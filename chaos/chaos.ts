import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { client } from "./client.ts";
import { fileServer } from "./files.ts";
import { type Fleet, startFleet } from "./fleet.ts";
import { judge, type Verdict } from "./judge.ts";
import { judgeKept } from "./kept.ts";
import { type Ledger, ledger } from "./ledger.ts";
import { killPlan, type Target } from "./plan.ts";
import { deadLetters, finishedJobs, keptFindings, unfinishedJobs } from "./queue-view.ts";
import { receivers } from "./receivers.ts";
import { type Random, seeded } from "./seeded.ts";
import { openStorage, type PlatformName } from "./storage.ts";
import { type Traffic, traffic } from "./traffic.ts";

export interface ChaosOptions {
  seed: number;
  /** Acknowledged jobs. */
  jobs: number;
  kills: number;
  /** Between two kills, on average. */
  gapSeconds: number;
  /** Of the callbacks, those to receivers that never answer 2xx. */
  deafShare: number;
  duplicateShare: number;
  platform: PlatformName;
  /** Jobs whose file kills the worker that scans it. */
  killers: number;
  /** Hears how far it is, now and then. */
  progress(text: string): void;
}

export interface Outcome extends Verdict {
  seed: number;
  seconds: number;
  platform: PlatformName;
  killers: number;
  /** Workers that died of a file. */
  killedByFile: number;
  kills: Readonly<Record<Target, number>>;
  /** What the receivers did with the POSTs they got. */
  receivers: Readonly<Record<string, number>>;
  /** Lines of the service's logs, by event and outcome. */
  log: Readonly<Record<string, number>>;
  /** Requests answered 503: the job was not accepted, or its result could not be read right then. */
  refused: number;
}

const API_KEY = "key-of-the-chaos";
/** Has a machine of its own, too. */
const OPERATOR = "operator";
const LOOK_MS = 20;
const WORK_LOOK_MS = 200;
const DRAIN_LOOK_MS = 5000;
const LAST_LOOK_MS = 1000;
/** Longer than any job can go without a change: leases of 30 s, and POSTs of 15 s that are tried six times. */
const STUCK_MS = 300_000;
/** When one that is to be killed has had no work yet, so many jobs more are let in at each look. */
const MORE_JOBS = 2;

/**
 * One run: jobs come in while processes are killed, then the queue is left to drain, then all that was seen is judged.
 * Throws when the run itself cannot be done.
 */
export async function chaos(options: ChaosOptions, signal: AbortSignal): Promise<Outcome> {
  const { seed, progress } = options;
  const started = performance.now();
  const random = seeded(seed);
  const book = ledger();
  await using undo = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "lazaret-chaos-"));
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const files = undo.use(await fileServer(book.downloaded));
  const heard = undo.use(await receivers(book, random));
  // Ends the waits of whatever is still under way when the run ends early.
  const over = new AbortController();
  const running = AbortSignal.any([signal, over.signal]);
  const storage = undo.use(await openStorage(options.platform, folder));
  const fleet = undo.use(await startFleet({ ...options, folder, apiKey: API_KEY, storage }, running));
  undo.defer(() => over.abort(new Error("the run is over")));

  const ask = client(API_KEY, () => fleet.apiUrl);
  const publicKey = await ask.publicKey();
  heard.trust(publicKey);
  const flow = traffic({ ...options, ask, book, files, receivers: heard, random }, running);
  const seconds = (): number => Math.round((performance.now() - started) / 1000);
  const timer = setInterval(() => {
    const killed = Object.values(fleet.kills).reduce((sum, count) => sum + count, 0);
    progress(`${seconds()} s: ${book.acknowledged} acknowledged, ${flow.ended} ended, ${killed} kills`);
  }, 10_000);
  undo.defer(() => clearInterval(timer));

  const live = async (): Promise<void> => {
    await killAll(options, { fleet, flow, book, random }, running);
    await flow.allSubmitted();
    await fleet.allUp();
    await drained(storage.envOf(OPERATOR), { flow, book }, running);
    await flow.pollAll();
  };
  await Promise.race([live(), flow.failed]);
  if ((await ask.publicKey()) !== publicKey) book.strange.push("the public key has changed");
  const badEnds = await fleet.stop();
  const letters = await deadLetters(storage.envOf(OPERATOR));

  const mayRunAgain = options.platform === "aws";
  const verdict = judge({ ...options, entries: book.entries.values(), deadLetters: letters, mayRunAgain });
  // On AWS a crash may cost what the history has of a job.
  if (!mayRunAgain) {
    const finished = await finishedJobs(storage.envOf(OPERATOR));
    const findings = await keptFindings(storage.envOf(OPERATOR));
    verdict.breaches.push(...judgeKept({ entries: book.entries.values(), deadLetters: letters, finished, findings }));
  }
  for (const seen of [...book.strange, ...fleet.trouble, ...badEnds]) {
    verdict.breaches.push({ kind: "strange", expected: "nothing of the kind", seen });
  }
  return {
    seed,
    seconds: seconds(),
    ...verdict,
    platform: options.platform,
    killers: options.killers,
    killedByFile: fleet.killedByFile,
    kills: fleet.kills,
    receivers: heard.shown,
    log: fleet.told,
    refused: flow.refused,
  };
}

/**
 * Kills as planned, spread over the submissions. Jobs come in bursts, one before each kill, which strikes when some of
 * the burst is in and each victim has had work since it was started.
 */
async function killAll(
  options: ChaosOptions,
  run: { fleet: Fleet; flow: Traffic; book: Ledger; random: Random },
  signal: AbortSignal,
): Promise<void> {
  const { fleet, flow, book } = run;
  const plan = killPlan(options.kills, fleet.targets, run.random);
  const burst = options.jobs / (plan.length + 1);
  for (const [number, kill] of plan.entries()) {
    const { targets, after, share, momentMs } = kill;
    await pause(after * options.gapSeconds * 1000, undefined, { signal });
    flow.admit(Math.ceil(burst * (number + 1)));
    while (book.acknowledged < Math.floor(burst * (number + share))) await pause(LOOK_MS, undefined, { signal });
    await pause(momentMs, undefined, { signal });
    for (let states = targets.map(fleet.stateOf); states.some((state) => state !== "worked"); ) {
      if (!states.includes("down")) flow.admit(book.acknowledged + MORE_JOBS);
      await pause(WORK_LOOK_MS, undefined, { signal });
      states = targets.map(fleet.stateOf);
    }
    await fleet.kill(kill);
  }
  flow.admit(options.jobs);
}

/** Resolves when no job waits or is under way any more. Looking starts a process, so that it is not done before it can be so. */
async function drained(
  env: Readonly<Record<string, string>>,
  run: { flow: Traffic; book: Ledger },
  signal: AbortSignal,
): Promise<void> {
  const { flow, book } = run;
  let seen = "";
  let changedAt = performance.now();
  for (;;) {
    const early = flow.ended < flow.expected;
    const left = early ? "many" : await unfinishedJobs(env).catch((error: Error) => error.message);
    if (left === 0) return;
    const now = `${left} jobs under way, ${flow.ended} ended`;
    if (now !== seen) changedAt = performance.now();
    else if (performance.now() - changedAt > STUCK_MS) throw new Error(`the queue does not drain: ${now}`);
    seen = now;
    const others = flow.expected < book.acknowledged;
    await pause(!early && others ? DRAIN_LOOK_MS : LAST_LOOK_MS, undefined, { signal });
  }
}
