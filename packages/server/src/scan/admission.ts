import { gate, type WeightOf } from "../flow/gate.ts";
import { gatheredBytes } from "../flow/gathered-bytes.ts";
import { removeItem } from "../flow/remove-item.ts";
import { announcedBytes, isWhole, wholeBytes } from "../flow/whole-bytes.ts";
import { Busy, TooSlow } from "../model/faults.ts";

/**
 * Who may scan now, of those who wait for the result.
 *
 *   join ─▶ receive ─▶ wait for a slot ─▶ scan ─▶ leave
 *   a place   until the bytes are here, or flow
 *
 * There are so many places, and fewer slots, some of which one key alone cannot take: another finds a free one. A slot is for scanning: it is taken for bytes that are here, in memory or on
 * disk, or that come as fast as an engine takes them. A sender that trickles keeps its place and no slot; one that was fast
 * and stops loses its slot when somebody waits for one. When all places are taken, the key that has most of them for its weight gives
 * up its newest for a key that has fewer. Nobody gives up its only one, and who has none gets one, whatever the others weigh.
 */
export interface Admission {
  /** Takes a place; `stop` is called with the reason when it is lost. Throws `Busy` when there is none. */
  join(key: string, stop: (reason: Error) => void): Place;
  /** How many have a slot, and how many have a place and none. */
  counts(): { scanning: number; waiting: number };
}

export interface Place {
  /** Resolves when the bytes may be scanned. Throws what they throw, and `signal.reason`. */
  admit(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Admitted>;
  leave(): void;
}

/** Bytes in a slot. */
export interface Admitted {
  bytes: AsyncIterable<Uint8Array>;
  /** How long they waited for it, since they were here or flowed. */
  waitedMs?: number;
  /** Gives the slot back. */
  leave(): void;
}

/** All bytes of a file, here. */
export interface HeldBytes {
  read(): AsyncIterable<Uint8Array>;
  release(): void;
}

export interface AdmissionOptions {
  slots: number;
  /** Further slots, which one key alone cannot take. */
  spareSlots?: number;
  /** A file that is announced to be no larger is received as a whole before it takes a slot, if it flows; none by default. */
  wholeBytes?: number;
  /** Places beyond the slots. */
  longestLine: number;
  /** Takes in bytes to their end. What they throw comes through. */
  hold(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<HeldBytes>;
  /** 1 for all by default. */
  weightOf?: WeightOf;
  now?: () => number;
  /** How often it is checked whether bytes in a slot still flow. */
  checkEveryMs?: number;
}

/** So much is received before it is decided. What is no larger is here. */
const FIRST_BYTES: number = 64 * 1024;
/** Bytes that come at this rate flow. What is slower is held until all are here, which costs a temporary file and no slot. */
const FLOWING_BYTES_PER_MS: number = (1024 * 1024) / 1000;
/** In a slot that others wait for less will do, for a moment at least: a network may stumble. */
const LEAST_BYTES_PER_MS: number = (128 * 1024) / 1000;
const CHECK_EVERY_MS = 2000;
/** Of all files that are received as a whole, together; further ones are read in their slot. */
const WHOLE_AT_ONCE_BYTES: number = 16 * 1024 * 1024;

interface Joined {
  key: string;
  stop(reason: Error): void;
  inSlot: boolean;
}

export function admission(options: AdmissionOptions): Admission {
  const {
    slots,
    spareSlots = 0,
    longestLine,
    hold,
    now = () => performance.now(),
    checkEveryMs = CHECK_EVERY_MS,
  } = options;
  const { weightOf = () => 1, wholeBytes: mostWhole = 0 } = options;
  const door = gate({ slots: slots + spareSlots, perKey: slots, weightOf });
  const places: Joined[] = [];
  /** Bytes of files that are received, or here, as a whole. */
  let whole = 0;

  /** Takes a place from the key that has the most for its weight, for one that has fewer. */
  function takePlaceFor(key: string): void {
    const byKey = Map.groupBy(places, (place) => place.key);
    const has = byKey.get(key)?.length ?? 0;
    const own = has === 0 ? 0 : (has + 1) / weightOf(key);
    const [most] = [...byKey]
      .filter(([, { length }]) => length > 1)
      .map(([each, places]) => ({
        newest: places.findLast((place) => !place.inSlot),
        forWeight: places.length / weightOf(each),
      }))
      .filter(({ newest, forWeight }) => newest && forWeight > own)
      .sort((one, other) => other.forWeight - one.forWeight);
    const busy = new Busy(`all ${slots} slots are taken and ${places.length - slots} requests wait already`);
    if (!most?.newest) throw busy;
    removeItem(places, most.newest);
    most.newest.stop(busy);
  }

  /** Ends the scan whose bytes have all but stopped while others wait for its slot. */
  async function* watched(first: Uint8Array[], rest: Pulled, place: Joined): AsyncGenerator<Uint8Array> {
    let received = 0;
    let waitedMs = 0;
    let askedAt: number | undefined;
    const timer = setInterval(() => {
      const since = askedAt === undefined ? 0 : now() - askedAt;
      const slow = received < LEAST_BYTES_PER_MS * checkEveryMs && waitedMs + since > checkEveryMs * 0.8;
      if (slow && door.waiting > 0)
        place.stop(new TooSlow("the body arrives too slowly, and others wait to be scanned"));
      received = 0;
      waitedMs = 0;
      if (askedAt !== undefined) askedAt = now();
    }, checkEveryMs);
    timer.unref();
    try {
      yield* allOf(first);
      for (;;) {
        askedAt = now();
        const next = await rest.next();
        waitedMs += now() - askedAt;
        askedAt = undefined;
        if (next.done) return;
        received += next.value.byteLength;
        yield next.value;
      }
    } finally {
      clearInterval(timer);
      await rest.return?.();
    }
  }

  return {
    join(key, stop) {
      if (places.length >= slots + longestLine) takePlaceFor(key);
      const place: Joined = { key, stop, inSlot: false };
      places.push(place);
      let reserved = 0;

      /** Reserves memory for the whole file; none if it is large, or there are many. Returns the bytes. */
      function reserve(announced: number): number {
        const fits = announced > FIRST_BYTES && announced <= mostWhole && whole + announced <= WHOLE_AT_ONCE_BYTES;
        reserved = fits ? announced : 0;
        whole += reserved;
        return reserved;
      }

      function giveUpReserved(): void {
        whole -= reserved;
        reserved = 0;
      }

      async function enter(
        bytes: AsyncIterable<Uint8Array>,
        signal: AbortSignal,
        { release = () => {} }: Partial<HeldBytes> = {},
      ): Promise<Admitted> {
        const freeSlot = signal.aborted ? undefined : door.tryEnter(key);
        const began = freeSlot ? 0 : now();
        const leaveSlot =
          freeSlot ??
          (await door.enter(signal, key).catch((error) => {
            release();
            throw error;
          }));
        place.inSlot = true;
        return {
          bytes,
          waitedMs: freeSlot ? 0 : now() - began,
          leave() {
            release();
            leaveSlot();
            place.inSlot = false;
          },
        };
      }

      /** Apart from `admit`, which would keep the content for as long as a slow file comes. */
      function enterWhole(content: Uint8Array, signal: AbortSignal): Promise<Admitted> {
        return enter(wholeBytes(content), signal);
      }

      return {
        async admit(bytes, signal) {
          if (isWhole(bytes)) return enter(wholeBytes(bytes.takeAll()), signal);
          const rest = bytes[Symbol.asyncIterator]();
          const { pieces, fast, done } = await beginningOf(rest, () => reserve(announcedBytes(bytes) ?? 0), now);
          if (done) return enterWhole(pieces.shift() ?? new Uint8Array(), signal);
          giveUpReserved();
          if (fast) return enter(watched(pieces, rest, place), signal);
          const held = await hold(joined(pieces, rest), signal);
          return enter(held.read(), signal, held);
        },
        leave() {
          removeItem(places, place);
          giveUpReserved();
        },
      };
    },

    counts() {
      const scanning = door.inside;
      return { scanning, waiting: Math.max(0, places.length - scanning) };
    },
  };
}

type Pulled = AsyncIterator<Uint8Array>;

interface Beginning {
  /** To be taken out as they are read, so that nobody keeps them. */
  pieces: Uint8Array[];
  fast: boolean;
  done: boolean;
}

/** Reads what comes at first: up to FIRST_BYTES, or the whole file where there is memory reserved for it, if it comes fast. */
async function beginningOf(bytes: Pulled, reserve: () => number, now: () => number): Promise<Beginning> {
  const began = now();
  const gathered = gatheredBytes();
  let reserved: number | undefined;
  for (;;) {
    const next = await bytes.next();
    if (next.done) return { pieces: [gathered.bytes()], fast: true, done: true };
    const size = gathered.size + next.value.byteLength;
    if (size >= FIRST_BYTES) {
      const fast = size >= (now() - began) * FLOWING_BYTES_PER_MS;
      // Only now: a client that has sent nothing reserves no memory.
      if (fast) reserved ??= reserve();
      if (reserved) gathered.reserve(reserved);
      if (!fast || size > (reserved ?? 0)) return { pieces: [gathered.bytes(), next.value], fast, done: false };
    }
    gathered.add(next.value);
  }
}

async function* allOf(pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let piece = pieces.shift(); piece; piece = pieces.shift()) if (piece.byteLength > 0) yield piece;
}

async function* joined(first: Uint8Array[], rest: Pulled): AsyncGenerator<Uint8Array> {
  yield* allOf(first);
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
