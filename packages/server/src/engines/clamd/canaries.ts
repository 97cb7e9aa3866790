import { EngineUnavailable } from "../../model/faults.ts";
import { basicCanary, canaryFiles, plainCanary, roomCanary, tooDeepCanary, WAYS, type Way } from "./canary-files.ts";
import type { Reply } from "./reply.ts";

/**
 * What clamd has shown to be able to do.
 *
 *   unknown ── a round in which the basic canary is found ──▶ trusted
 *   trusted ── a round in which it is not, a failure, a lost connection, other signatures ──▶ unknown
 *
 * A round sends one canary of each way of packing. Rounds come after each change to unknown, and every few minutes.
 */
export interface Canaries {
  /** The ways of packing that clamd unpacks by itself; none unless it is trusted. */
  opens(): ReadonlySet<Way>;
  readonly trusted: boolean;
  /** Something happened after which clamd may be another one, or not itself. */
  distrust(): void;
  /** A round that begins after now. Throws when clamd cannot be believed. */
  learn(): Promise<void>;
  /** Unless clamd is trusted: waits for the round under way, or for another. Throws as `learn` does. */
  settle(): Promise<void>;
  /** A canary sent after now is found that takes more room than a few plain files of that many bytes. */
  prove(streamBytes: number): Promise<void>;
}

export interface CanariesOptions {
  /** Sends one canary to clamd. */
  ask(canary: Buffer): Promise<Reply>;
  /** What else may be wrong when a canary is not found. */
  suspicion(): string | undefined;
  /** Looks at what clamd does meanwhile. */
  observe(round: () => Promise<void>): Promise<void>;
}

/** A canary takes at least as much room as a stream of this size. */
const SMALL_STREAM_BYTES = 64 * 1024;
/** Of a longer stream this much may be on its way to clamd's folder when a canary is sent before its end. */
const ON_THE_WAY_BYTES = 512 * 1024;

export function canaries({ ask, suspicion, observe }: CanariesOptions): Canaries {
  let ways: ReadonlySet<Way> = new Set();
  let trusted = false;
  let doubts = 0;

  function distrust(): void {
    doubts += 1;
    trusted = false;
  }

  async function finds(canary: Buffer): Promise<void> {
    const reply = await ask(canary).catch((error: Error) => {
      distrust();
      throw error;
    });
    if (isInfected(reply)) return;
    distrust();
    throw new EngineUnavailable(await whyNotFound(reply));
  }

  async function whyNotFound(reply: Reply): Promise<string> {
    const suspected = suspicion();
    if (suspected !== undefined) return suspected;
    if (reply.kind === "failure") return `clamd gave no verdict on a test file: ${reply.text}`;
    if (reply.verdict.kind === "unscannable") {
      return `clamd says ${reply.verdict.finding} to a test file of 14 layers; set MaxRecursion 17`;
    }
    const plain = await ask(plainCanary()).catch(() => undefined);
    if (plain && isInfected(plain)) {
      return "clamd does not find the EICAR test file in a zip, so its OK means nothing; set ScanArchive yes, and see that its temporary folder is not full";
    }
    return "clamd does not find the EICAR test file, so its OK means nothing; run freshclam (signatures that do not know EICAR are not ClamAV's official ones), and see that its temporary folder is not full";
  }

  async function round(): Promise<void> {
    const doubtsBefore = doubts;
    await finds(basicCanary());
    const [tooDeep, ...replies] = await Promise.all([
      ask(tooDeepCanary()).catch(() => undefined),
      ...WAYS.map((way) => ask(canaryFiles[way]()).catch(() => undefined)),
    ]);
    // If it does not report its limits, it may have stopped in any container without a word.
    const reportsLimits = tooDeep?.kind === "verdict" && tooDeep.verdict.kind === "unscannable";
    ways = new Set(WAYS.filter((_, index) => reportsLimits && isInfected(replies[index])));
    trusted = doubts === doubtsBefore;
  }

  let underWay: Promise<void> | undefined;
  const learn = grouped(() => {
    underWay = observe(round);
    return underWay;
  });
  const proveSmall = grouped(() => finds(roomCanary(SMALL_STREAM_BYTES)));
  const proveLarge = grouped(() => finds(roomCanary(ON_THE_WAY_BYTES)));
  return {
    opens: () => (trusted ? ways : new Set()),
    get trusted() {
      return trusted;
    },
    distrust,
    learn,
    async settle() {
      if (!trusted) await underWay?.catch(() => undefined);
      if (!trusted) await learn();
    },
    prove: (streamBytes) => (streamBytes > SMALL_STREAM_BYTES ? proveLarge() : proveSmall()),
  };
}

function isInfected(reply: Reply | undefined): boolean {
  return reply?.kind === "verdict" && reply.verdict.kind === "infected";
}

/**
 * Each call is served by a run that begins after it; calls during a run share the next one.
 * @internal a test decides when a run ends
 */
export function grouped(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function start(): Promise<void> {
    const mine = run().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  return () => {
    if (!running) return start();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
