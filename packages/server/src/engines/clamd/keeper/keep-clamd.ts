import { realpathSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { saidLately } from "../../../flow/said-lately.ts";
import { firstOf, pause } from "../../../flow/time-limit.ts";
import type { Log } from "../../../log.ts";
import { answersPing, clamdBinary } from "../own-clamd.ts";
import { keeperLock } from "./keeper-lock.ts";
import { type KeeperState, keeperFolder, readKeeperState, writeKeeperState } from "./keeper-state.ts";
import { type ProvenClamd, pointTo, pointToNone, retire, startProven, stopNow, sweepRuns } from "./proven-clamd.ts";
import { fingerprintOf, keepOnly, lackingIn, type SignatureSet, setInWords, setOf, takeSet } from "./signature-sets.ts";

export interface KeeperOptions {
  dataDir: string;
  /** Where new signatures come from. */
  signaturesDir: string;
  /** Whether new signatures are tried beside those in use, or after these are out of memory. */
  signaturesSwitch: "beside" | "alone";
  /** Lines of clamd.conf that replace the recommended ones. */
  config: Readonly<Record<string, string>>;
  log: Log;
  /** Before clamd is started again, after so many ends in a row soon after a start. */
  pauseSeconds(earlyEnds: number): number;
  lookEveryMs?: number;
  /** The clamd to run, if not this machine's. */
  binary?: string;
}

export interface ClamdKeeper extends AsyncDisposable {
  /** Resolves when clamd answers for the first time, or another process keeps it; rejects when its first start fails. */
  readonly started: Promise<void>;
}

const LOOK_EVERY_MS = 5_000;
/** While there is no clamd at all. */
const FIRST_LOOK_MS = 500;
const LOCK_EVERY_MS = 1_000;
/** One that lived for so long has not died of its start. */
const LONG_LIFE_MS = 60_000;
/** What was refused may have failed by the machine, and not by itself. */
const REFUSED_AGAIN_MS = 3_600_000;
/** All its threads may be busy with large files for minutes, and then it does not answer: only one that hangs is silent for longer. */
const SILENT_MS = 300_000;
const SILENT_TIMES = 10;

/**
 * Keeps a clamd for a data folder, with signatures that have passed a self-test, until it is disposed of.
 *
 *   starting ──proven──▶ running ──ended──▶ waiting (0, 1, 2, 4 … s) ──▶ starting
 *   running ──other files in the folder──▶ a second clamd ──proven──▶ running, and the first one retires
 *                                                         └─failed──▶ running, and the new signatures are refused
 *
 * Of several processes on one data folder the one with the lock does so; the next one takes over when it ends.
 */
export function keepClamd(options: KeeperOptions): ClamdKeeper {
  const closing = new AbortController();
  const started = Promise.withResolvers<void>();
  started.promise.catch(() => {});
  const kept = keep(options, started, closing.signal).catch((error: Error) => {
    started.reject(error);
    if (!closing.signal.aborted) options.log.error("clamd", { state: "not_kept", error: error.message });
  });
  return {
    started: started.promise,
    async [Symbol.asyncDispose]() {
      closing.abort(new Error("the service stops"));
      await kept;
    },
  };
}

async function keep(options: KeeperOptions, started: PromiseWithResolvers<void>, closing: AbortSignal): Promise<void> {
  const { log, signaturesDir, lookEveryMs = LOOK_EVERY_MS } = options;
  await mkdir(keeperFolder(options.dataDir), { recursive: true, mode: 0o700 });
  // By its real name: the verdict cache believes no links.
  const folder = realpathSync(keeperFolder(options.dataDir));
  const sets = join(folder, "signatures");
  using _lock = await lockOf(folder, started, closing);
  if (closing.aborted) return;
  const before = readKeeperState(folder);
  await sweepRuns(folder, before);

  let state: KeeperState = { state: "starting", since: Date.now(), ...kept(before) };
  let current: ProvenClamd | undefined;
  let startedAt = 0;
  let earlyEnds = 0;
  let silent = { since: 0, times: 0 };
  /** The folder at the last look, and when it was last taken from. */
  let looked = "";
  let taken = "";
  const retiring = new Set<Promise<void>>();
  const lately = saidLately();

  /** What others may know; what was refused is remembered until others are taken. */
  function tell(now: Omit<KeeperState, "since" | "set" | "refused">): void {
    state = { ...now, since: Date.now(), ...kept(state) };
    try {
      writeKeeperState(folder, state);
    } catch (error) {
      // A full disk: clamd is worth more than what is said of it.
      const { message } = error as Error;
      if (!lately(message)) log.error("clamd", { state: "not_told", error: message });
    }
  }

  async function prove(set: SignatureSet, signal: AbortSignal): Promise<ProvenClamd> {
    const binary = options.binary ?? clamdBinary();
    if (!binary) throw new Error("clamd is not installed on this machine (Debian: apt-get install clamav-daemon)");
    const onSpawn = (pid: number): unknown => current === undefined && tell({ state: "starting", pid });
    return startProven(set, { folder, config: options.config, binary, onSpawn: (pid) => void onSpawn(pid) }, signal);
  }

  async function take(next: ProvenClamd): Promise<void> {
    const old = current;
    await pointTo(next, folder).catch(async (error: Error) => {
      await next.kill();
      throw error;
    });
    current = next;
    startedAt = performance.now();
    silent = { since: 0, times: 0 };
    // Those that were refused are still what is in the folder only where these are the ones from before.
    if (next.set.id !== state.set || next.set.id === state.refused?.set) delete state.refused;
    state = { ...state, set: next.set.id };
    tell({ state: "running", pid: next.pid });
    log("clamd", { state: "started", pid: next.pid, signatures: setInWords(next.set) });
    started.resolve();
    if (old) void retired(old);
    await keepOnly([next.set.id, state.refused?.set ?? ""], sets);
  }

  async function retired(old: ProvenClamd): Promise<void> {
    const gone = retire(old, closing).catch((error: Error) =>
      log.error("clamd", { state: "not_ended", error: error.message }),
    );
    retiring.add(gone);
    await gone;
    retiring.delete(gone);
  }

  function refuse(set: SignatureSet, error: Error): void {
    const databases = setInWords(set);
    const why = inOneLine(error);
    state = { ...state, refused: { set: set.id, databases, why, at: Date.now() } };
    tell(current ? { state: "running", pid: current.pid } : { state: "waiting", error: why });
    const then = current ? ", those before stay; they are tried again in an hour, or when they change" : "";
    const hint = `the signatures in ${signaturesDir} are not used${then}`;
    log.error("signatures_refused", { signatures: databases, error: why, hint });
  }

  /** Where none are in use there is nothing to lose by another try. */
  function refusedForMs(): number {
    return current ? REFUSED_AGAIN_MS : options.pauseSeconds(earlyEnds) * 1000;
  }

  /** What is in the folder, once it has stayed the same for one look and was not tried before. */
  async function newSet(): Promise<SignatureSet | undefined> {
    try {
      const now = await fingerprintOf(signaturesDir);
      const isStill = now === looked;
      looked = now;
      const isDue = state.refused !== undefined && Date.now() - state.refused.at >= refusedForMs();
      if (now === "" || !isStill || (now === taken && !isDue)) return undefined;
      const set = await takeSet(signaturesDir, sets);
      taken = now;
      if (set.id === state.refused?.set && !isDue) return undefined;
      if (set.id !== current?.set.id) return set;
      if (state.refused) {
        delete state.refused;
        tell({ state: "running", pid: current.pid });
      }
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      // How much is free is another number at every look.
      if (!lately(message.replace(/\d+/g, ""))) log.error("clamd", { state: "no_signatures", error: message });
      return undefined;
    }
  }

  /** Those that were in use before, or else, and where these do not start any more, those of the folder. */
  async function start(): Promise<void> {
    const proven = state.set === undefined ? undefined : await setOf(state.set, sets);
    const fresh = !proven || earlyEnds > 1 ? await newSet() : undefined;
    const set = fresh ?? proven;
    if (!set) {
      const error = `no signatures in ${signaturesDir}, or none that are whole: run freshclam, or lazaret signatures update`;
      if (!state.refused) tell({ state: "idle", error });
      // Twice the same is a look and another: nobody needs to hear of the first.
      if (looked === "" && !lately(error)) log.error("clamd", { state: "no_signatures", error });
      return void (await pause(Math.min(lookEveryMs, FIRST_LOOK_MS), closing));
    }
    try {
      tell({ state: "starting" });
      await take(await prove(set, closing));
    } catch (error) {
      if (closing.aborted) return;
      started.reject(error);
      earlyEnds += 1;
      if (set === fresh) return refuse(set, error as Error);
      const message = inOneLine(error as Error);
      const seconds = options.pauseSeconds(earlyEnds);
      tell({ state: "waiting", error: message });
      log.error("clamd", { state: "not_started", error: message, again_seconds: seconds });
      await pause(seconds * 1000, closing);
    }
  }

  /** Signatures that do not come up are refused; then, or when the clamd in use ends meanwhile, all stays as it was. */
  async function goOver(set: SignatureSet, old: ProvenClamd): Promise<void> {
    using giveUp = firstOf([closing]);
    // The self-test cannot know what is missing.
    const lacking = lackingIn(set, old.set).join(", ");
    if (lacking !== "") {
      const cure = `bring it back, or stop the service and remove ${sets} to do without`;
      return refuse(set, new Error(`they lack ${lacking}, which is in use: ${cure}`));
    }
    if (options.signaturesSwitch === "alone") {
      current = undefined;
      await pointToNone(folder);
      await stopNow(old);
    } else void old.ended.then(() => giveUp.abort(new Error("the clamd in use has ended")));
    try {
      await take(await prove(set, giveUp.signal));
    } catch (error) {
      if (giveUp.signal.aborted) taken = "";
      else refuse(set, error as Error);
    }
  }

  /** Until it ends, or something else is to be done. */
  async function watch(clamd: ProvenClamd): Promise<void> {
    const woken = firstOf([closing]);
    void clamd.ended.then(() => woken.abort());
    const lasted = await pause(lookEveryMs, woken.signal);
    woken[Symbol.dispose]();
    if (closing.aborted) return;
    if (!lasted) return ended(clamd, await clamd.ended);
    if (await answersPing(clamd.socketPath)) silent = { since: 0, times: 0 };
    else silent = { since: silent.since || performance.now(), times: silent.times + 1 };
    if (silent.times >= SILENT_TIMES && performance.now() - silent.since > SILENT_MS) {
      log.error("clamd", { state: "hangs", pid: clamd.pid });
      await clamd.kill();
    }
  }

  async function ended(clamd: ProvenClamd, how: number | string): Promise<void> {
    current = undefined;
    earlyEnds = performance.now() - startedAt < LONG_LIFE_MS ? earlyEnds + 1 : 1;
    const seconds = options.pauseSeconds(earlyEnds);
    const error = `clamd ended with ${how}`;
    tell({ state: "waiting", error: `${error}, and is started again` });
    log.error("clamd", { state: "ended", pid: clamd.pid, ended_with: how, again_seconds: seconds });
    await rm(clamd.folder, { recursive: true, force: true });
    await pause(seconds * 1000, closing);
  }

  async function step(): Promise<void> {
    if (!current) return start();
    const set = await newSet();
    if (set) await goOver(set, current);
    if (current) await watch(current);
  }

  /** Whatever happened, files wait for a clamd. */
  async function goOn(error: Error): Promise<void> {
    if (!lately(error.message)) log.error("clamd", { state: "not_kept", error: error.message });
    await pause(lookEveryMs, closing);
  }

  try {
    while (!closing.aborted) await step().catch(goOn);
  } finally {
    await pointToNone(folder);
    await Promise.all([current && stopNow(current), ...retiring]);
    tell({ state: "idle", error: "the service that kept clamd has stopped" });
  }
}

/** Its hint is to run clamd by hand, in a folder that is gone by now. */
function inOneLine({ message }: Error): string {
  return message.replace(/; hint: .*$/s, "").replaceAll(/\s*\n\s*/g, "; ");
}

/** What is still true when all else has changed. */
function kept(state: KeeperState | undefined): Pick<KeeperState, "set" | "refused"> {
  return { ...(state?.set !== undefined && { set: state.set }), ...(state?.refused && { refused: state.refused }) };
}

/** Waits for it while another has it. Undefined only when it is no longer wanted. */
async function lockOf(
  folder: string,
  started: PromiseWithResolvers<void>,
  closing: AbortSignal,
): Promise<Disposable | undefined> {
  for (;;) {
    const lock = closing.aborted ? undefined : keeperLock(folder);
    if (lock || closing.aborted) return lock;
    started.resolve();
    await pause(LOCK_EVERY_MS, closing);
  }
}
