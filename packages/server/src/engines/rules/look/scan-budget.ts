import type { ScanLimits } from "../scan-limits.ts";

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
export interface ScanBudget {
  readonly limits: ScanLimits;
  addMember(): void;
  addBytes(count: number): void;
  /** To be called now and then: time, and whether to go on at all. */
  check(): void;
}

export function scanBudget(limits: ScanLimits, fileBytes: number, cancelled: () => boolean): ScanBudget {
  const started = performance.now();
  const ratioBytes = Math.max(limits.ratioFromBytes, limits.ratio * fileBytes);
  let members = 0;
  let bytes = 0;

  function check(): void {
    if (cancelled()) throw new Cancelled("the scan was called off");
    if (performance.now() - started > limits.milliseconds) throw new LimitExceeded("time");
  }

  return {
    limits,
    addMember() {
      members += 1;
      if (members > limits.members) throw new LimitExceeded("members");
      check();
    },
    addBytes(count) {
      bytes += count;
      if (bytes > limits.unpackedBytes) throw new LimitExceeded("unpacked bytes");
      if (bytes > ratioBytes) throw new LimitExceeded("unpacked bytes for each byte of the file");
      check();
    },
    check,
  };
}
