import { gate } from "../../flow/gate.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { ClamdAddress } from "./address.ts";
import { openSession, type Session, type SessionOptions } from "./session.ts";

/** A bounded number of sessions, used by one at a time and kept for the next. */
export interface SessionPool {
  /** Connections, used or kept. */
  readonly open: number;
  use<T>(work: (session: Session) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): void;
}

export interface SessionPoolOptions extends SessionOptions {
  address: ClamdAddress;
  slots: number;
  /** Idle sessions are dropped after this long, well before clamd's IdleTimeout does it. */
  idleMs: number;
  onOpened(): void;
  /** An idle session was closed by the other side. */
  onGone(): void;
  /** A session could not be opened, or failed. */
  onFault(): void;
}

export function sessionPool(options: SessionPoolOptions): SessionPool {
  const { address, idleMs, onOpened, onGone, onFault } = options;
  const slots = gate({ slots: options.slots });
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
      onGone();
    }
    const session = await openSession(address, options, signal);
    open.add(session);
    if (closed) drop(session);
    onOpened();
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
    get open() {
      return [...open].filter((session) => session.alive).length;
    },

    async use(work, signal) {
      if (closed) throw new EngineUnavailable("the engine is closed");
      const leave = await slots.enter(signal);
      let session: Session;
      try {
        session = await takeSession(signal);
      } catch (error) {
        leave();
        if (error instanceof EngineUnavailable) onFault();
        throw error;
      }
      try {
        return await work(session);
      } catch (error) {
        if (error instanceof EngineUnavailable) onFault();
        throw error;
      } finally {
        // clamd goes on scanning for a client that has left: its thread stays taken until then, and so does the slot.
        void session.settled().then(() => {
          giveBack(session);
          leave();
        });
      }
    },

    close() {
      closed = true;
      for (const timer of idle.values()) clearTimeout(timer);
      idle.clear();
      for (const session of open) session.close();
      open.clear();
    },
  };
}
