import { gate } from "../../flow/gate.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { ClamdAddress } from "./address.ts";
import { openSession, type Session, type SessionOptions } from "./session.ts";

/** A bounded number of users, each with a session that is kept for the next. */
export interface SessionPool {
  /** Connections, used or kept. */
  readonly open: number;
  /** Alone with its session. */
  use<T>(work: Work<T>, signal: AbortSignal): Promise<T>;
  /**
   * For one stream that leaves in one piece: others may send theirs on the same session while clamd looks at it, which takes fewer calls of the
   * system and fewer turns of the event loop for each. The place is held until the stream is `answered`, which the work hands on to its scan.
   * Throws `GivenUp` when the session ended for another's sake.
   */
  share<T>(work: Work<T>, signal: AbortSignal): Promise<T>;
  close(): void;
}

/** `of`: the epoch of the clamd that the session leads to. Undefined where that is not certain. */
type Work<T> = (session: Session, of: number | undefined, answered?: () => void) => Promise<T>;

/** Those who share a session. Nobody joins them where it leads elsewhere by now. */
interface Company {
  users: number;
  elsewhere: boolean;
}

/** So many streams share a session at most. */
const SHARED_BY = 16;

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
  /** Those that are shared, and by how many. */
  const shared = new Map<Session, Company>();
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

  /** The first that has room, so that the others are left and drop out. */
  function oneToJoin(): Session | undefined {
    const here = place();
    for (const [session, { users, elsewhere }] of shared) {
      if (users === SHARED_BY || elsewhere || !session.takesMore) continue;
      if (places.get(session) === here && epochs.get(session) === epoch()) return session;
    }
    return undefined;
  }

  function join(session: Session): Company {
    const company = shared.get(session) ?? { users: 0, elsewhere: false };
    company.users += 1;
    shared.set(session, company);
    return company;
  }

  /** Looks where it leads to each time: whoever was answered by one that is gone is to know. */
  function part(session: Session, company: Company): void {
    company.users -= 1;
    if (places.get(session) !== place()) company.elsewhere = true;
    if (company.users > 0) return;
    shared.delete(session);
    giveBack(session);
  }

  async function useOne<T>(work: Work<T>, signal: AbortSignal, shares: boolean): Promise<T> {
    if (closed) throw new EngineUnavailable("the engine is closed");
    signal.throwIfAborted();
    const leave = slots.tryEnter() ?? (await slots.enter(signal));
    let session: Session;
    try {
      session = (shares ? oneToJoin() : undefined) ?? takeIdle() ?? (await openAnother(signal));
    } catch (error) {
      leave();
      if (error instanceof EngineUnavailable) onFault();
      throw error;
    }
    const company = shares ? join(session) : undefined;
    const end = (): void => {
      if (company) part(session, company);
      else giveBack(session);
      leave();
    };
    try {
      return await work(session, epochs.get(session), company && end);
    } catch (error) {
      if (error instanceof EngineUnavailable) onFault();
      throw error;
    } finally {
      // clamd goes on scanning for a client that has left: its thread stays taken until then, and so does the slot.
      const settled = company ? undefined : session.settled();
      if (settled) void settled.then(end);
      else if (!company) end();
    }
  }

  return {
    get open() {
      return [...open].filter((session) => session.alive).length;
    },

    use: (work, signal) => useOne(work, signal, false),
    share: (work, signal) => useOne(work, signal, true),

    close() {
      closed = true;
      idle.length = 0;
      for (const session of [...open]) drop(session);
    },
  };
}
