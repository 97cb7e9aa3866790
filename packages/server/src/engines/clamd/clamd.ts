import { readlinkSync } from "node:fs";
import { remembered } from "../../flow/remembered.ts";
import { unlessAborted } from "../../flow/time-limit.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Verdict } from "../../model/verdict.ts";
import type { Engine } from "../../scan/engine.ts";
import type { ClamdAddress } from "./address.ts";
import { canaries } from "./canaries.ts";
import { SILENT_WHEN_FULL } from "./canary-files.ts";
import { CONNECT_TIMEOUT_MS, checkClamd, databasesOf, wordsOf } from "./check-clamd.ts";
import { findClamdConf } from "./clamd-conf.ts";
import { type ClamdEdition, clamdEdition } from "./clamd-edition.ts";
import { clamdFolder, freeIn, type RoomWatch } from "./clamd-folder.ts";
import type { SessionOptions } from "./session.ts";
import { type SessionPool, sessionPool } from "./session-pool.ts";
import { type ShownMember, type ShownVerdict, showMembers } from "./show-members.ts";
import { type ClamdVersion, isSameVersion } from "./version.ts";

export interface ClamdOptions extends Partial<SessionOptions> {
  address: ClamdAddress;
  /** Scans at once; clamd's MaxThreads should be no less. As many files again may have their members shown. */
  concurrency: number;
  /** clamd's TemporaryDirectory. If not given it is looked for in clamd's configuration, and clamd at work in it. */
  temporaryDir?: string;
  /** Its socket is a link, which leads to another clamd when there are new signatures. */
  switches?: boolean;
  /** Idle sessions are dropped after this long, well before clamd's IdleTimeout does it. */
  idleMs?: number;
  /** How often clamd has to show what it can do. */
  learnEveryMs?: number;
  /** How long a whole file took, from its last byte to the reply. */
  onReply?: ((seconds: number) => void) | undefined;
  now?: () => number;
}

/** ClamAV's daemon, over pooled sessions. Its OK counts only as far as it has shown what it can do. */
export interface Clamd extends Engine {
  /**
   * The ways of packing that this clamd unpacks by itself, as far as it has shown that: what came out of them in the
   * ordinary way need not be shown to it. To be asked while the whole file is being sent, not before.
   */
  opens(): ReadonlySet<string>;
  /**
   * Scans a file of which all that came out in the ways that `left` names, when clamd has answered, is left to clamd's own unpacker. Its OK
   * counts only if the clamd that gave it has shown to open these: otherwise `ClamdExchanged` is thrown. For engines that may become others.
   */
  scanLeaving?(bytes: AsyncIterable<Uint8Array>, left: () => Iterable<string>, signal: AbortSignal): Promise<Verdict>;
  /** Shows members of one file. Waits for no whole file that is being sent. */
  show(members: readonly ShownMember[], signal: AbortSignal): Promise<ShownVerdict>;
  /** Its signatures and settings, where it is certain what they are: see `ClamdEdition`. Never where this is missing. */
  edition?: ClamdEdition;
  /** As it was at the last look at its health. Undefined before the first. */
  version?(): ClamdVersion | undefined;
}

/** clamd's OK does not count, as it was another one, or may have been, by the time that it had shown what it can do. */
export class ClamdExchanged extends EngineUnavailable {
  constructor() {
    super("clamd was exchanged for another one while it looked at the file");
    this.name = "ClamdExchanged";
  }
}

/** MaxScanTime is 30 s and checked between layers only, so clamd may need longer than that for its reply. */
const REPLY_TIMEOUT_MS = 120_000;
const IDLE_MS = 10_000;
const LEARN_EVERY_MS = 3 * 60_000;
/** What is in its folder is read no more often. */
const DATABASES_MS = 10_000;
const CANARIES_AT_ONCE = 2;
/** Of one file: enough to keep clamd's threads busy, and others' files do not wait long. */
const MEMBERS_AT_ONCE = 8;

export function clamd(options: ClamdOptions): Clamd {
  const { address, concurrency, now = Date.now } = options;
  // A configuration of this machine says nothing about a clamd on another one.
  const found = address.kind === "unix" ? findClamdConf(address)?.temporaryDir : undefined;
  const folder = clamdFolder(options.temporaryDir ?? found, { sure: options.temporaryDir !== undefined });
  const databases = remembered(DATABASES_MS, () => databasesOf(address));
  const closing = new AbortController();
  let learning: NodeJS.Timeout | undefined;
  let version: ClamdVersion | undefined;
  /** When the ways were last given out that clamd is silent about in a full folder. */
  let gaveSilentWays = Number.NEGATIVE_INFINITY;

  /** How often clamd may have become another one. What it has shown it has shown in one of these. */
  let epoch = 0;
  function another(): void {
    epoch += 1;
    shown.distrust();
  }
  const link = address.kind === "unix" && options.switches ? () => linkAt(address.path) : undefined;
  let lastLink = link?.();
  function place(): string | undefined {
    const now = link?.();
    if (now !== lastLink) another();
    lastLink = now;
    return now;
  }

  const pool = (slots: number, onFault: () => void): SessionPool =>
    sessionPool({
      address,
      slots,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      replyTimeoutMs: options.replyTimeoutMs ?? REPLY_TIMEOUT_MS,
      idleMs: options.idleMs ?? IDLE_MS,
      place: link && place,
      epoch: () => epoch,
      // While nobody was connected clamd may have become another one.
      onOpened: () => void (whole.open + members.open + forCanaries.open === 1 && another()),
      onGone: another,
      onFault,
    });
  const shown = canaries({
    ask: (canary) =>
      forCanaries.use((session) => session.scan(once(canary), { signal: closing.signal }), closing.signal),
    suspicion: () => (folder.room() === "full" ? fullFolder() : undefined),
    observe: (round) =>
      folder.observe(async () => {
        // Connected before the round, which would otherwise doubt itself for it.
        await forCanaries.use(async () => {}, closing.signal).catch(ignore);
        await round();
      }),
  });
  const { distrust } = shown;
  // Apart from each other, so that files which are held open while their members are shown cannot block these.
  const whole = pool(concurrency, distrust);
  const members = pool(concurrency, distrust);
  // What happens to a canary is judged by the round.
  const forCanaries = pool(CANARIES_AT_ONCE, ignore);

  function fullFolder(): string {
    const free = folder.path === undefined ? undefined : freeIn(folder.path);
    const left = free ? ` (${Math.floor(free.bytes / 1024)} KiB and ${free.inodes} inodes left)` : "";
    return `clamd's temporary folder ${folder.path} is full${left}: it would call anything OK; make room there`;
  }

  /** From the first use on clamd has to show every few minutes what it can do. */
  function begin(): void {
    if (closing.signal.aborted) throw new EngineUnavailable("the engine is closed");
    if (learning) return;
    learning = setInterval(() => void shown.learn().catch(ignore), options.learnEveryMs ?? LEARN_EVERY_MS).unref();
    void shown.learn().catch(ignore);
  }

  /** Looks at the room from before clamd looks at the bytes until it has answered, and says whether its OK counts. */
  function witness(): Witness {
    const began = performance.now();
    let watch: RoomWatch | undefined;
    let doubt: unknown;
    const beginWatch = (): RoomWatch => {
      watch = folder.watch();
      return watch;
    };
    return {
      beforeEnd(bytesSent) {
        const room = watch ? watch.measure() : beginWatch().first;
        if (room !== "unseen" && room !== "short") return;
        // The stream goes on whatever comes of it: what clamd finds counts all the same.
        return shown.prove(bytesSent).catch((error) => {
          doubt ??= error;
        });
      },
      believe(signal) {
        // At this very moment, also where nothing was sent.
        const room = (watch ?? beginWatch()).end();
        if (room === "full") {
          distrust();
          throw new EngineUnavailable(fullFolder());
        }
        if (doubt !== undefined) throw doubt;
        if (room === "short" && gaveSilentWays >= began) {
          throw new EngineUnavailable(`clamd's temporary folder ${folder.path} ran short of room while it looked`);
        }
        if (shown.trusted && room === "enough") return undefined;
        return unlessAborted(room === "enough" ? shown.settle() : shown.settle().then(() => shown.prove(0)), signal);
      },
      end: () => void watch?.end(),
    };
  }

  const edition = clamdEdition(address);

  async function scanLeaving(
    bytes: AsyncIterable<Uint8Array>,
    left: () => Iterable<string>,
    signal: AbortSignal,
  ): Promise<Verdict> {
    begin();
    const { beforeEnd, believe, end } = witness();
    let sentAt: number | undefined;
    let of: number | undefined;
    const sent = (count: number): Promise<void> | undefined => {
      sentAt = performance.now();
      return beforeEnd(count);
    };
    try {
      const reply = await whole.use((session, its) => {
        of = its;
        return session.scan(bytes, { signal, beforeEnd: sent });
      }, signal);
      if (sentAt !== undefined) options.onReply?.((performance.now() - sentAt) / 1000);
      if (reply.kind === "failure") {
        distrust();
        throw new EngineUnavailable(`clamd gave no verdict: ${reply.text}`, { whileScanning: true });
      }
      if (reply.verdict.kind === "clean") {
        await believe(signal);
        if (of !== epoch || !isOpened(left())) throw new ClamdExchanged();
      }
      return reply.verdict;
    } finally {
      end();
    }
  }

  function isOpened(left: Iterable<string>): boolean {
    const ways: ReadonlySet<string> = shown.opens();
    for (const way of left) if (!ways.has(way)) return false;
    return true;
  }

  async function showOnce(given: readonly ShownMember[], signal: AbortSignal): Promise<ShownVerdict> {
    const { beforeEnd, believe, end } = witness();
    // A canary shows that there is room for a few files, not for many.
    const atOnce = folder.room() === "enough" ? MEMBERS_AT_ONCE : 1;
    let of: number | undefined;
    try {
      const verdict = await members.use((session, its) => {
        of = its;
        const byTar = of === epoch && shown.opens().has("tar");
        return showMembers(given, { session, byTar, atOnce, beforeEnd, signal });
      }, signal);
      if (verdict.kind === "clean") {
        await believe(signal);
        if (of !== epoch) throw new ClamdExchanged();
      }
      return verdict;
    } finally {
      end();
    }
  }

  return {
    edition,
    version: () => version,

    opens() {
      const ways: ReadonlySet<string> = shown.opens();
      if (folder.room() !== "enough") return ways.difference(SILENT_WHEN_FULL);
      gaveSilentWays = performance.now();
      return ways;
    },

    scan: (bytes, signal) => scanLeaving(bytes, () => [], signal),
    scanLeaving,

    async show(given, signal) {
      begin();
      try {
        return await showOnce(given, signal);
      } catch (error) {
        if (!(error instanceof ClamdExchanged)) throw error;
        return showOnce(given, signal);
      }
    },

    async health(signal) {
      const { check: found, version: asked } = await checkClamd(address, { signal, now: now() });
      const check = { ...found, databases: await databases() };
      if (!check.ok) return { ready: false, checks: [check] };
      try {
        if (!isSameVersion(asked, version)) {
          distrust();
          version = asked;
        }
        // A clamd that was started anew is known from here on, and not only from the end of the first scan by it.
        edition.now();
        begin();
        await witness().believe(signal);
        return { ready: true, checks: [check] };
      } catch (error) {
        return { ready: false, checks: [{ ...check, ok: false, detail: `${check.detail}: ${wordsOf(error)}` }] };
      }
    },

    async close() {
      closing.abort(new EngineUnavailable("the engine is closed"));
      clearInterval(learning);
      edition.close();
      for (const each of [whole, members, forCanaries]) each.close();
    },
  };
}

interface Witness {
  /** Undefined where there is nothing to wait for. */
  beforeEnd(bytesSent: number): Promise<void> | undefined;
  /** Throws when an OK does not count. Undefined: it does. */
  believe(signal: AbortSignal): Promise<void> | undefined;
  end(): void;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function ignore(): void {}
