import { readlinkSync } from "node:fs";
import { remembered } from "../../flow/remembered.ts";
import { unlessAborted } from "../../flow/time-limit.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Engine, EngineCheck, EngineDatabase } from "../../scan/engine.ts";
import { type ClamdAddress, describeAddress } from "./address.ts";
import { canaries } from "./canaries.ts";
import { SILENT_WHEN_FULL } from "./canary-files.ts";
import { findClamdConf } from "./clamd-conf.ts";
import { type ClamdEdition, clamdEdition } from "./clamd-edition.ts";
import { clamdFolder, freeIn, type RoomWatch } from "./clamd-folder.ts";
import { databasesIn } from "./databases.ts";
import type { SessionOptions } from "./session.ts";
import { type SessionPool, type SessionPoolOptions, sessionPool } from "./session-pool.ts";
import { type ShownMember, type ShownVerdict, showMembers } from "./show-members.ts";
import { askVersion, type ClamdVersion, isSameVersion, signatureWords } from "./version.ts";

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
  /** Shows members of one file. Waits for no whole file that is being sent. */
  show(members: readonly ShownMember[], signal: AbortSignal): Promise<ShownVerdict>;
  /** Its signatures and settings, where it is certain what they are: see `ClamdEdition`. Never where this is missing. */
  edition?: ClamdEdition;
  /** As it was at the last look at its health. Undefined before the first. */
  version?(): ClamdVersion | undefined;
}

/** MaxScanTime is 30 s and checked between layers only, so clamd may need longer than that for its reply. */
const REPLY_TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 5_000;
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

  const place = address.kind === "unix" && options.switches ? () => linkAt(address.path) : undefined;
  const pool = (slots: number, events: Pick<SessionPoolOptions, "onOpened" | "onGone" | "onFault">): SessionPool =>
    sessionPool({
      address,
      slots,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      replyTimeoutMs: options.replyTimeoutMs ?? REPLY_TIMEOUT_MS,
      idleMs: options.idleMs ?? IDLE_MS,
      place,
      ...events,
    });
  const shown = canaries({
    ask: (canary) =>
      forCanaries.use((session) => session.scan(once(canary), { signal: closing.signal }), closing.signal),
    suspicion: () => (folder.room() === "full" ? fullFolder() : undefined),
    observe: folder.observe,
  });
  const { distrust } = shown;
  // While nobody was connected clamd may have become another one.
  const onOpened = (): unknown => whole.open + members.open + forCanaries.open === 1 && distrust();
  // Apart from each other, so that files which are held open while their members are shown cannot block these.
  const whole = pool(concurrency, { onOpened, onGone: distrust, onFault: distrust });
  const members = pool(concurrency, { onOpened, onGone: distrust, onFault: distrust });
  // What happens to a canary is judged by the round.
  const forCanaries = pool(CANARIES_AT_ONCE, { onOpened: ignore, onGone: distrust, onFault: ignore });

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
        const room = watch?.end() ?? folder.room();
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

  return {
    edition,
    version: () => version,

    opens() {
      const ways: ReadonlySet<string> = shown.opens();
      if (folder.room() !== "enough") return ways.difference(SILENT_WHEN_FULL);
      gaveSilentWays = performance.now();
      return ways;
    },

    async scan(bytes, signal) {
      begin();
      const { beforeEnd, believe, end } = witness();
      let sentAt: number | undefined;
      const sent = (count: number): Promise<void> | undefined => {
        sentAt = performance.now();
        return beforeEnd(count);
      };
      try {
        const reply = await whole.use((session) => session.scan(bytes, { signal, beforeEnd: sent }), signal);
        if (sentAt !== undefined) options.onReply?.((performance.now() - sentAt) / 1000);
        if (reply.kind === "failure") {
          distrust();
          throw new EngineUnavailable(`clamd gave no verdict: ${reply.text}`, { whileScanning: true });
        }
        if (reply.verdict.kind === "clean") await believe(signal);
        return reply.verdict;
      } finally {
        end();
      }
    },

    async show(given, signal) {
      begin();
      const { beforeEnd, believe, end } = witness();
      const byTar = shown.opens().has("tar");
      // A canary shows that there is room for a few files, not for many.
      const atOnce = folder.room() === "enough" ? MEMBERS_AT_ONCE : 1;
      const how = { byTar, atOnce, beforeEnd, signal };
      try {
        const verdict = await members.use((session) => showMembers(given, { session, ...how }), signal);
        if (verdict.kind === "clean") await believe(signal);
        return verdict;
      } finally {
        end();
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

async function checkClamd(
  address: ClamdAddress,
  options: { signal: AbortSignal; now: number },
): Promise<{ check: EngineCheck; version?: ClamdVersion }> {
  try {
    const version: ClamdVersion = await askVersion(address, CONNECT_TIMEOUT_MS, options.signal);
    const { signatures } = version;
    const words = signatureWords(version, options.now);
    const check = {
      name: "clamd",
      ok: true,
      detail: `${version.product} at ${describeAddress(address)}, ${words}`,
      ...(signatures && { signatureAgeSeconds: Math.max(0, (options.now - signatures.builtAt) / 1000) }),
    };
    return { check, version };
  } catch (error) {
    return { check: { name: "clamd", ok: false, detail: wordsOf(error) } };
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** None where its folder is not ours to read. */
async function databasesOf(address: ClamdAddress): Promise<EngineDatabase[]> {
  const folder = address.kind === "unix" ? findClamdConf(address)?.databaseDir : undefined;
  const found = folder === undefined ? [] : await databasesIn(folder).catch(() => []);
  return found.map(({ name, header }) => ({
    name,
    ...(header && { version: header.version, builtAt: header.builtAt }),
  }));
}

function wordsOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error instanceof Error ? error.message : String(error)}${cause}`;
}

function ignore(): void {}
