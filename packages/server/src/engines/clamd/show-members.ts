import { firstOf } from "../../flow/time-limit.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Verdict } from "../../model/verdict.ts";
import { TAR_END, TAR_MEMBERS, tarHeader, tarPadding } from "./canary-files.ts";
import { isEncrypted } from "./reply.ts";
import type { Session } from "./session.ts";

/** A member of a file, in memory or somewhere else, from where it may be read more than once. */
export type ShownMember = Uint8Array | StoredMember;

interface StoredMember {
  readonly size: number;
  read(): AsyncIterable<Uint8Array>;
  readonly shownElsewhere?: ShownElsewhere;
}

/** The part of a content that clamd gets in another way as well: that it cannot look into that here is no news. */
export type ShownElsewhere = "encrypted" | "all";

export type ShownVerdict =
  | { kind: "clean" }
  /** `index` says which of the members it was. */
  | { kind: "infected" | "unscannable"; finding: string; index: number };

export interface ShowOptions {
  session: Session;
  /** clamd has shown to open plain tars: small members may go together in one. */
  byTar: boolean;
  /** Streams that are sent and not answered yet. */
  atOnce: number;
  beforeEnd(bytesSent: number): Promise<void> | void;
  signal: AbortSignal;
}

/** Members that are sent as one stream. */
interface Parcel {
  indices: readonly number[];
  bytes: number;
}

/** From 16 KB on clamd needs more time for a member in a tar than for one by itself. */
const SMALL_BYTES = 16 * 1024;
const PARCEL_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** Sent and not answered yet. */
const IN_FLIGHT_BYTES = 8 * 1024 * 1024;

/**
 * Shows members to clamd, several at once. The first infected one ends it. A parcel in which clamd finds something is
 * shown again member by member: signatures with several parts match across members of a tar, and limits count them all.
 */
export async function showMembers(members: readonly ShownMember[], options: ShowOptions): Promise<ShownVerdict> {
  const { session, byTar, atOnce, beforeEnd } = options;
  const stop = new AbortController();
  using either = firstOf([options.signal, stop.signal]);
  const { signal } = either;
  const flight = limitedFlight(atOnce);
  let infected: ShownVerdict | undefined;
  let unscannable: (ShownVerdict & { index: number }) | undefined;
  let fault: unknown;

  async function send({ indices, bytes }: Parcel): Promise<Verdict> {
    const reply = await flight.during(bytes, () => {
      const [first = 0] = indices;
      const stream = indices.length > 1 ? tarOf(members, indices) : contentOf(members[first] ?? NOTHING);
      return session.scan(stream, { signal, beforeEnd });
    });
    if (reply.kind === "verdict") return reply.verdict;
    throw new EngineUnavailable(`clamd gave no verdict: ${reply.text}`, { whileScanning: true });
  }

  async function show(parcel: Parcel): Promise<void> {
    const verdict = await send(parcel);
    if (verdict.kind === "clean" || signal.aborted) return;
    const [index = 0] = parcel.indices;
    if (parcel.indices.length > 1) {
      await severalAtOnce(parcel.indices, (each) => show({ indices: [each], bytes: sizeOf(members[each]) }));
    } else if (verdict.kind === "infected") {
      infected ??= { kind: "infected", finding: verdict.finding, index };
      stop.abort();
    } else if (isExcused(verdict, members[index])) {
      return;
    } else if (unscannable === undefined || index < unscannable.index) {
      unscannable = { kind: "unscannable", finding: verdict.finding, index };
    }
  }

  async function severalAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
    const left = items[Symbol.iterator]();
    const workers = Array.from({ length: atOnce }, async () => {
      for (let next = left.next(); !next.done && !signal.aborted; next = left.next()) await work(next.value);
    });
    await Promise.all(workers);
  }

  await severalAtOnce(parcelsOf(members, byTar), (parcel) =>
    show(parcel).catch((error: unknown) => {
      fault ??= error;
      stop.abort();
    }),
  );
  if (infected) return infected;
  options.signal.throwIfAborted();
  if (fault !== undefined) throw fault;
  return unscannable ?? { kind: "clean" };
}

/** In parcels of their own, or several small ones together. Empty members have nothing to look at. */
function* parcelsOf(members: readonly ShownMember[], byTar: boolean): Generator<Parcel> {
  let indices: number[] = [];
  let bytes = 0;
  for (const [index, member] of members.entries()) {
    const size = sizeOf(member);
    if (size === 0) continue;
    if (!byTar || size > SMALL_BYTES) {
      yield { indices: [index], bytes: size };
      continue;
    }
    if (indices.length === TAR_MEMBERS || bytes + size > PARCEL_BYTES) {
      yield { indices, bytes };
      indices = [];
      bytes = 0;
    }
    indices.push(index);
    bytes += size;
  }
  if (indices.length > 0) yield { indices, bytes };
}

const NOTHING = new Uint8Array();

function isExcused(verdict: Verdict, member: ShownMember = NOTHING): boolean {
  const elsewhere = "shownElsewhere" in member ? member.shownElsewhere : undefined;
  return elsewhere === "all" || (elsewhere === "encrypted" && isEncrypted(verdict));
}

function sizeOf(member: ShownMember = NOTHING): number {
  return member instanceof Uint8Array ? member.byteLength : member.size;
}

/** The bytes of one member; throws if there are more or fewer than was said, since a clean would be no statement about them. */
async function* contentOf(member: ShownMember): AsyncGenerator<Uint8Array> {
  if (member instanceof Uint8Array) {
    for (let at = 0; at < member.byteLength; at += CHUNK_BYTES) yield member.subarray(at, at + CHUNK_BYTES);
    return;
  }
  let bytes = 0;
  for await (const chunk of member.read()) {
    bytes += chunk.byteLength;
    yield chunk;
  }
  if (bytes !== member.size) throw new Error(`a member has ${bytes} bytes, and ${member.size} were announced`);
}

async function* tarOf(members: readonly ShownMember[], indices: readonly number[]): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  const add = (piece: Uint8Array): void => {
    pieces.push(piece);
    bytes += piece.byteLength;
  };
  // A first member that begins with `EFI PART` would make the whole tar a disk to clamd, which it then does not open.
  add(tarHeader(0));
  for (const index of indices) {
    const member = members[index] ?? NOTHING;
    add(tarHeader(sizeOf(member)));
    if (member instanceof Uint8Array) add(member);
    else for await (const chunk of contentOf(member)) add(chunk);
    add(tarPadding(sizeOf(member)));
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    bytes = 0;
  }
  yield Buffer.concat([...pieces, TAR_END]);
}

/** Keeps what is under way within limits; a stream that is larger by itself goes alone. */
function limitedFlight(atOnce: number): { during<T>(bytes: number, work: () => Promise<T>): Promise<T> } {
  const waiting: (() => void)[] = [];
  let streams = 0;
  let flying = 0;
  const fits = (bytes: number): boolean => streams === 0 || (streams < atOnce && flying + bytes <= IN_FLIGHT_BYTES);
  const change = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  return {
    async during(bytes, work) {
      while (!fits(bytes)) await change();
      streams += 1;
      flying += bytes;
      try {
        return await work();
      } finally {
        streams -= 1;
        flying -= bytes;
        for (const wake of waiting.splice(0)) wake();
      }
    },
  };
}
