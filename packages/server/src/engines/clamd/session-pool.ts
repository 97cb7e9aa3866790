import { gate } from "../../flow/gate.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { ClamdAddress } from "./address.ts";
import { openSession, type Session, type SessionOptions } from "./session.ts";

/** A bounded number of sessions, used by one at a time and kept for the next. */
export interface SessionPool {
  /** Connections, used or kept. */
  readonly open: number;
  /** `of`: the epoch of the clamd that the session leads to. Undefined where that is not certain. */
  use<T>(work: (session: Session, of: number | undefined) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): void;
}

export interface SessionPoolOptions extends SessionOptions {
  address: ClamdAddress;
  slots: number;
  /** Idle sessions are dropped after this long, well before clamd's IdleTimeout does it. */
  idleMs: number;
  /** What the address leads to now. A session is kept only while that is the same. */
  place?: (() => string | undefined) | undefined;
  /** Another number whenever clamd may have become another one. A session is kept only while that is the same. */
  epoch(): number;
  onOpened(): void;
  /** An idle session was closed by the other side. */
  onGone(): void;
  /** A session could not be opened, or failed. */
  onFault(): void;
}

export function sessionPool(options: SessionPoolOptions): SessionPool {
  const { address, idleMs, place = () => undefined, epoch, onOpened, onGone, onFault } = options;
  const slots = gate({ slots: options.slots });
  const open = new Set<Session>();
  /** Those that wait for work, the most recently used last. */
  const idle: Session[] = [];
  /** One timer for each session, which is begun again each time it is given back. */
  const timers = new Map<Session, NodeJS.Timeout>();
  /** Where each leads to, or to one that came after: looked at before it was opened. */
  const places = new WeakMap<Session, string | undefined>();
  const epochs = new WeakMap<Session, number>();
  let closed = false;

  /** The most recently used first, so that the others grow old and are dropped. */
  function takeIdle(): Session | undefined {
    for (let session = idle.pop(); session; session = idle.pop()) {
      const wasClosed = !session.idle;
      if (!wasClosed && places.get(session) === place() && epochs.get(session) === epoch()) return session;
      drop(session);
      // Of one from before nobody needs to hear any more.
      if (wasClosed && epochs.get(session) === epoch()) onGone();
    }
    return undefined;
  }

  async function openAnother(signal: AbortSignal): Promise<Session> {
    const at = place();
    const session = await openSession(address, options, signal);
    places.set(session, at);
    open.add(session);
    if (closed) drop(session);
    onOpened();
    // Where the address led elsewhere meanwhile, nobody knows who has answered.
    if (place() === at) epochs.set(session, epoch());
    return session;
  }

  function giveBack(session: Session): void {
    if (!session.idle || closed || places.get(session) !== place()) {
      drop(session);
      return;
    }
    idle.push(session);
    const timer = timers.get(session);
    if (timer) timer.refresh();
    else timers.set(session, setTimeout(dropIdle, idleMs, session).unref());
  }

  function dropIdle(session: Session): void {
    const at = idle.indexOf(session);
    // Somebody uses it.
    if (at === -1) return;
    idle.splice(at, 1);
    drop(session);
  }

  function drop(session: Session): void {
    open.delete(session);
    clearTimeout(timers.get(session));
    timers.delete(session);
    session.close();
  }

  return {
    get open() {
      return [...open].filter((session) => session.alive).length;
    },

    async use(work, signal) {
      if (closed) throw new EngineUnavailable("the engine is closed");
      signal.throwIfAborted();
      const leave = slots.tryEnter() ?? (await slots.enter(signal));
      let session: Session;
      try {
        session = takeIdle() ?? (await openAnother(signal));
      } catch (error) {
        leave();
        if (error instanceof EngineUnavailable) onFault();
        throw error;
      }
      try {
        return await work(session, epochs.get(session));
      } catch (error) {
        if (error instanceof EngineUnavailable) onFault();
        throw error;
      } finally {
        // clamd goes on scanning for a client that has left: its thread stays taken until then, and so does the slot.
        const end = (): void => {
          giveBack(session);
          leave();
        };
        const settled = session.settled();
        if (settled) void settled.then(end);
        else end();
      }
    },

    close() {
      closed = true;
      idle.length = 0;
      for (const session of [...open]) drop(session);
    },
  };
}
