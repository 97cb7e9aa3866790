import { EngineUnavailable } from "../../model/faults.ts";
import type { Engine, EngineCheck } from "../../scan/engine.ts";
import { gate } from "../../scan/gate.ts";
import { type ClamdAddress, describeAddress } from "./address.ts";
import { openSession, type Session, type SessionOptions } from "./session.ts";
import { askVersion, signatureAge } from "./version.ts";

export interface ClamdOptions extends Partial<SessionOptions> {
  address: ClamdAddress;
  /** Scans at once; clamd's MaxThreads should be no less. */
  concurrency: number;
  /** Idle sessions are dropped after this long, well before clamd's IdleTimeout does it. */
  idleMs?: number;
  now?: () => number;
}

/** MaxScanTime is 45 s and checked between layers only, so clamd may need longer than that for its reply. */
const REPLY_TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_MS = 10_000;

/** Engine part: ClamAV's daemon, over pooled sessions. */
export function clamd(options: ClamdOptions): Engine {
  const { address, concurrency, idleMs = IDLE_MS, now = Date.now } = options;
  const sessionOptions: SessionOptions = {
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    replyTimeoutMs: options.replyTimeoutMs ?? REPLY_TIMEOUT_MS,
  };
  const slots = gate(concurrency);
  const open = new Set<Session>();
  const idle = new Map<Session, NodeJS.Timeout>();
  let closed = false;

  async function takeSession(signal: AbortSignal): Promise<Session> {
    // The most recently used first, so that the others grow old and are dropped.
    for (const [session, timer] of [...idle].reverse()) {
      clearTimeout(timer);
      idle.delete(session);
      if (session.idle) return session;
      open.delete(session);
    }
    const session = await openSession(address, sessionOptions, signal);
    open.add(session);
    return session;
  }

  function giveBack(session: Session): void {
    if (!session.idle || closed) {
      drop(session);
      return;
    }
    const timer = setTimeout(() => {
      idle.delete(session);
      drop(session);
    }, idleMs).unref();
    idle.set(session, timer);
  }

  function drop(session: Session): void {
    open.delete(session);
    session.close();
  }

  return {
    async scan(bytes, signal) {
      if (closed) throw new EngineUnavailable("the engine is closed");
      const leave = await slots.enter(signal);
      let session: Session;
      try {
        session = await takeSession(signal);
      } catch (error) {
        leave();
        throw error;
      }
      try {
        const reply = await session.scan(bytes, signal);
        if (reply.kind === "failure") {
          throw new EngineUnavailable(`clamd gave no verdict: ${reply.text}`, { whileLooking: true });
        }
        return reply.verdict;
      } finally {
        // clamd goes on scanning for a client that has left: its thread stays taken until then, and so does the slot.
        void session.settled().then(() => {
          giveBack(session);
          leave();
        });
      }
    },

    async health(signal) {
      const check = await checkClamd(address, { signal, now: now() });
      return { ready: check.ok, checks: [check] };
    },

    async close() {
      closed = true;
      for (const timer of idle.values()) clearTimeout(timer);
      idle.clear();
      for (const session of open) session.close();
      open.clear();
    },
  };
}

async function checkClamd(address: ClamdAddress, options: { signal: AbortSignal; now: number }): Promise<EngineCheck> {
  const where = describeAddress(address);
  try {
    const version = await askVersion(address, CONNECT_TIMEOUT_MS, options.signal);
    const age = signatureAge(version, options.now);
    const { signatures } = version;
    return {
      name: "clamd",
      ok: age.fresh,
      detail: `${version.product} at ${where}, ${age.words}`,
      ...(signatures && { signatureAgeSeconds: Math.max(0, (options.now - signatures.builtAt) / 1000) }),
    };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    return { name: "clamd", ok: false, detail: `${error instanceof Error ? error.message : String(error)}${cause}` };
  }
}
