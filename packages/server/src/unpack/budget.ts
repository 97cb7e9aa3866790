/**
 * How far we go into one file. Whoever needs more than this gets `scanner:limits-exceeded`, never clean.
 */
export interface UnpackLimits {
  /** The file itself is the first layer, what is in it the second, and so on. */
  layers: number;
  /** Members of all layers together: no more than this, and no more than so many and one for each so many bytes of the file. */
  members: number;
  membersFrom: number;
  bytesPerMember: number;
  /** Bytes of members, of all layers together. */
  unpackedBytes: number;
  /** Bytes of members for each byte of the file, once more than `ratioFromBytes` have come out. */
  ratio: number;
  ratioFromBytes: number;
  /** Bytes that readers pass over, for each byte of the file and its members; a few times each is ordinary. */
  workRatio: number;
  workFromBytes: number;
  /** Starts of 7-Zip, each of which takes about 10 ms of the processor: so many, and one more for each so many bytes of the file. */
  unpackerStarts: number;
  bytesPerUnpackerStart: number;
  /** Memory of one 7-Zip: its own 17 MB and the largest dictionary it may be asked for. */
  unpackerBytes: number;
  /** What is decoded without 7-Zip is decoded in memory: one member may have this many bytes. */
  memberInMemoryBytes: number;
  /** Processor time after which the thread itself gives up; the pool's hard limit is another matter. */
  milliseconds: number;
}

/** A limit is reached: the rest of the file has not been looked at. */
export class LimitExceeded extends Error {
  constructor(what: string) {
    super(`more ${what} than the limit`);
    this.name = "LimitExceeded";
  }
}

/** Nobody waits for the verdict any more. */
export class Cancelled extends Error {}

/** Counts what one file costs, all layers together, and throws when it is too much. */
export interface Budget {
  readonly limits: UnpackLimits;
  addMember(): void;
  /** Bytes of a member. */
  addBytes(count: number): void;
  /** Bytes that a reader has passed over or given to a decoder, however often it has seen them before. */
  addWork(count: number): void;
  /** A start of 7-Zip. What comes out of the file allows no more of them. */
  addUnpackerStart(): void;
  /** To be called now and then: time, and whether to go on at all. */
  check(): void;
}

export function unpackBudget(limits: UnpackLimits, fileBytes: number, cancelled: () => boolean): Budget {
  const started = performance.now();
  const startedCpu = limits.milliseconds === Number.POSITIVE_INFINITY ? 0 : cpuMs();
  const ratioBytes = Math.max(limits.ratioFromBytes, limits.ratio * fileBytes);
  const mostMembers = Math.min(limits.members, limits.membersFrom + fileBytes / limits.bytesPerMember);
  const mostStarts = limits.unpackerStarts + fileBytes / limits.bytesPerUnpackerStart;
  let members = 0;
  let bytes = 0;
  let work = 0;
  let starts = 0;

  function check(): void {
    if (cancelled()) throw new Cancelled("the scan was called off");
    // Time by the clock is asked for first, which costs less: a thread has never worked for longer than that.
    if (performance.now() - started > limits.milliseconds && cpuMs() - startedCpu > limits.milliseconds)
      throw new LimitExceeded("time");
  }

  return {
    limits,
    addMember() {
      members += 1;
      if (members > mostMembers) throw new LimitExceeded("members");
      check();
    },
    addBytes(count) {
      bytes += count;
      if (bytes > limits.unpackedBytes) throw new LimitExceeded("unpacked bytes");
      if (bytes > ratioBytes) throw new LimitExceeded("unpacked bytes for each byte of the file");
      check();
    },
    addWork(count) {
      work += count;
      if (work > limits.workFromBytes + limits.workRatio * (fileBytes + bytes)) throw new LimitExceeded("work");
      check();
    },
    addUnpackerStart() {
      starts += 1;
      if (starts > mostStarts) throw new LimitExceeded("archives");
      check();
    },
    check,
  };
}

/** What this thread has worked, however many others wanted the processor meanwhile. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
