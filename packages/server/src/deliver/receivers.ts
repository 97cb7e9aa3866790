import { type Gate, gate, type Leave } from "../flow/gate.ts";
import { firstOf } from "../flow/time-limit.ts";
import { Busy } from "../model/faults.ts";

/**
 * Who may POST to which receiver (an origin) at once. Receivers know nothing of each other, and those that answer nothing
 * of those that do not:
 *
 *   healthy     `posts` under way, and `longestLine` invocations more of one share, a quarter more of all; the share that has fewest
 *               POSTs under way is next. Whoever finds no room is told when to come back, one after the other, as fast as others have
 *               come and gone lately
 *   in trouble  after 3 POSTs in a row that failed or had no answer for a while: few invocations at once and no line, and all
 *               such receivers together hold a bounded part of what one share may have under way
 *
 * One POST that gets through ends the trouble.
 */
export interface Receivers {
  /** Begins an invocation, which ends when it is disposed of. Throws `Busy` when it should be tried another time. */
  visit(origin: string, share: string): Visit;
}

interface Visit extends Disposable {
  /**
   * Waits for a place for one POST. Throws `signal.reason` when the wait is given up, and `Busy` when the receiver gets into
   * trouble before the first POST of the visit: the others in line are only sent away.
   */
  enter(signal: AbortSignal): Promise<PostPlace>;
}

interface PostPlace {
  /** Whether the receiver has answered with 2xx. Not called for a POST that we gave up or never made. */
  ended(delivered: boolean): void;
  /** The connection carries nothing of it any more. */
  leave(): void;
}

export interface ReceiversOptions {
  /** POSTs under way to one receiver. */
  posts: number;
  longestLine: number;
  /** How long a POST may be without an answer before it counts as failed here, though it may still get through. */
  hangsAfterMs?: number;
  /** Milliseconds since any moment. */
  now?: () => number;
  /** Called when trouble begins and ends. */
  onTrouble?(origin: string, inTrouble: boolean): void;
}

interface Receiver {
  origin: string;
  /** POSTs under way, and those that wait for a place. */
  posts: Gate;
  /** Ends the wait of those who have made no POST yet. Made anew when somebody waits. */
  sendAway?: AbortController | undefined;
  shares: Map<string, ShareOfReceiver>;
  /** How long a POST takes of late, and an invocation: with its time in line, and what it waits between its POSTs. */
  postMs: Average;
  visitMs: Average;
  /** When the last POST ended, or somebody came when nobody was there. */
  endedAt: number;
  failuresInARow: number;
}

interface ShareOfReceiver {
  visits: number;
  /** When the last one who found no room was told to come back. */
  backAt: number;
}

/** A class, as one is made for each job. */
class OneVisit implements Visit {
  readonly share: string;
  readonly #enter: (visit: OneVisit, signal: AbortSignal) => Promise<PostPlace>;
  readonly #end: () => void;
  /** No POST was made in it yet. */
  first = true;

  constructor(share: string, enter: (visit: OneVisit, signal: AbortSignal) => Promise<PostPlace>, end: () => void) {
    this.share = share;
    this.#enter = enter;
    this.#end = end;
  }

  enter(signal: AbortSignal): Promise<PostPlace> {
    const entering = this.#enter(this, signal);
    this.first = false;
    return entering;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

/** Besides what one share may have of a receiver: for others who call the same one, such as a gateway of all. */
const SPARE = 1 / 4;
const HANGS_AFTER_MS = 5_000;
/** How long a POST takes while none has ended yet. */
const UNKNOWN_POST_MS = 200;
/** What the latest counts for among many. */
const LATEST = 1 / 8;
/** Nobody is told to come back later than this: the receiver may be faster then. */
const LONGEST_AWAY_MS = 15_000;
const TENTH_OF_SECOND_MS = 100;
const TROUBLE_FROM = 3;
const VISITS_IN_TROUBLE = 4;
/** Half of what a share may deliver at once: the other half is for receivers that answer. */
const VISITS_IN_TROUBLE_PER_SHARE = 250;
/** Receivers that failed last and that nobody visits are remembered, so many of them. */
const REMEMBERED = 5_000;

export function receivers(options: ReceiversOptions): Receivers {
  const { posts, longestLine, hangsAfterMs = HANGS_AFTER_MS, now = () => performance.now(), onTrouble } = options;
  const known = new Map<string, Receiver>();

  function receiverOf(origin: string): Receiver {
    const receiver = known.get(origin) ?? {
      origin,
      posts: gate({ slots: posts }),
      shares: new Map(),
      postMs: average(UNKNOWN_POST_MS),
      visitMs: average(UNKNOWN_POST_MS),
      endedAt: now(),
      failuresInARow: 0,
    };
    known.set(origin, receiver);
    return receiver;
  }

  function shareOf({ shares }: Receiver, name: string): ShareOfReceiver {
    const share = shares.get(name) ?? { visits: 0, backAt: 0 };
    shares.set(name, share);
    return share;
  }

  /** How often a visit ends, at best. POSTs that are under way may take longer than any before. */
  function msPerVisit({ postMs, visitMs, endedAt }: Receiver, at: number): number {
    return Math.max(postMs.value / posts, visitMs.value / (posts + longestLine), (at - endedAt) / posts);
  }

  /** Those who are told to come back do so as fast as their share gets places. */
  function noRoom(receiver: Receiver, shareName: string): Busy {
    const message = `too many callbacks wait for ${receiver.origin}`;
    if (inTrouble(receiver)) return new Busy(message);
    const at = now();
    const share = shareOf(receiver, shareName);
    share.backAt = Math.max(at, share.backAt);
    for (const [name, each] of receiver.shares) {
      if (each.visits === 0 && each.backAt < at) receiver.shares.delete(name);
    }
    share.backAt = Math.min(share.backAt + msPerVisit(receiver, at) * receiver.shares.size, at + LONGEST_AWAY_MS);
    const tenths = Math.ceil((share.backAt - at) / TENTH_OF_SECOND_MS);
    return new Busy(message, {
      backInSeconds: Math.min(Math.max(1, tenths), LONGEST_AWAY_MS / TENTH_OF_SECOND_MS) / 10,
    });
  }

  function mayVisit(receiver: Receiver, share: string): boolean {
    const visits = countOf(receiver);
    if (!inTrouble(receiver)) {
      const most = posts + longestLine;
      return visits < most + Math.ceil(most * SPARE) && visitsOf(receiver, share) < most;
    }
    const troubled = [...known.values()].filter(inTrouble).map((each) => visitsOf(each, share));
    return visits < VISITS_IN_TROUBLE && sum(troubled) < VISITS_IN_TROUBLE_PER_SHARE;
  }

  function forget(receiver: Receiver): void {
    if (isUsed(receiver) || known.get(receiver.origin) !== receiver) return;
    known.delete(receiver.origin);
    if (receiver.failuresInARow === 0) return;
    receiver.shares.clear();
    // Put at the end: the oldest are the first to be forgotten.
    known.set(receiver.origin, receiver);
    if (known.size <= REMEMBERED) return;
    for (const each of known.values()) {
      if (isUsed(each)) continue;
      known.delete(each.origin);
      return;
    }
  }

  function failed(receiver: Receiver): void {
    receiver.failuresInARow += 1;
    if (receiver.failuresInARow !== TROUBLE_FROM) return;
    onTrouble?.(receiver.origin, true);
    receiver.sendAway?.abort(new Busy(`${receiver.origin} does not take callbacks now`));
    receiver.sendAway = undefined;
  }

  function gotThrough(receiver: Receiver): void {
    if (inTrouble(receiver)) onTrouble?.(receiver.origin, false);
    receiver.failuresInARow = 0;
  }

  function postPlace(receiver: Receiver, leave: Leave): PostPlace {
    let counted = false;
    const fail = (): void => {
      if (!counted) failed(receiver);
      counted = true;
    };
    const hangs = setTimeout(fail, hangsAfterMs);
    hangs.unref();
    const since = now();
    let left = false;
    return {
      ended(delivered) {
        clearTimeout(hangs);
        if (delivered) gotThrough(receiver);
        else fail();
      },
      leave() {
        if (left) return;
        left = true;
        clearTimeout(hangs);
        receiver.endedAt = now();
        receiver.postMs.add(receiver.endedAt - since);
        leave();
        forget(receiver);
      },
    };
  }

  async function enter(receiver: Receiver, visit: OneVisit, signal: AbortSignal): Promise<PostPlace> {
    signal.throwIfAborted();
    return postPlace(receiver, receiver.posts.tryEnter(visit.share) ?? (await waitInLine(receiver, visit, signal)));
  }

  async function waitInLine(receiver: Receiver, { share, first }: OneVisit, signal: AbortSignal): Promise<Leave> {
    if (!first) return receiver.posts.enter(signal, share);
    receiver.sendAway ??= new AbortController();
    using either = firstOf([signal, receiver.sendAway.signal]);
    return await receiver.posts.enter(either.signal, share);
  }

  return {
    visit(origin, name) {
      const receiver = receiverOf(origin);
      if (!mayVisit(receiver, name)) throw noRoom(receiver, name);
      const since = now();
      if (!isUsed(receiver)) receiver.endedAt = since;
      const share = shareOf(receiver, name);
      share.visits += 1;
      return new OneVisit(
        name,
        (visit, signal) => enter(receiver, visit, signal),
        () => {
          share.visits -= 1;
          receiver.visitMs.add(now() - since);
          if (share.visits === 0) receiver.shares.delete(name);
          forget(receiver);
        },
      );
    },
  };
}

interface Average {
  value: number;
  add(value: number): void;
}

/** Of those of late. */
function average(unknown: number): Average {
  let count = 0;
  return {
    value: unknown,
    add(value) {
      count += 1;
      this.value += (value - this.value) * Math.max(LATEST, 1 / count);
    },
  };
}

function inTrouble({ failuresInARow }: Receiver): boolean {
  return failuresInARow >= TROUBLE_FROM;
}

/** A connection may outlast the invocation it was for. */
function isUsed(receiver: Receiver): boolean {
  return receiver.posts.inside > 0 || countOf(receiver) > 0;
}

function visitsOf({ shares }: Receiver, share: string): number {
  return shares.get(share)?.visits ?? 0;
}

function countOf({ shares }: Receiver): number {
  return sum([...shares.values()].map(({ visits }) => visits));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
