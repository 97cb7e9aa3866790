import { type Gate, gate, type Leave, type WeightOf } from "../flow/gate.ts";
import { Busy } from "../model/faults.ts";

export interface PlacesOptions {
  /** Jobs of one share that fetch and scan at once. */
  jobsAtOnce: number;
  /** Further places for those, which one share alone cannot take. */
  spareJobs?: number;
  /** Jobs that are scanned and tag, delete or write at once, on top. As many as may scan by default. */
  finishesAtOnce?: number;
  finishesPerShare?: number;
  /** Jobs that deliver at once, on top. */
  deliveriesAtOnce: number;
  deliveriesPerShare?: number;
  /** Jobs that wait for a slow source, on top. */
  slowAtOnce?: number;
  slowPerShare?: number;
  /** Suspects that fetch or scan, on top. */
  suspectsAtOnce?: number;
  suspectsPerShare?: number;
}

/**
 * Where the jobs of a worker are. A job holds one place at a time:
 *
 *   to scan ──slow source──▶ to wait ──bytes are here──▶ to scan ──▶ to finish ──▶ to deliver
 *
 * A suspect has a place to try where others have one to scan.
 */
export interface Places {
  /** Whether a job can be taken, and whose. */
  readonly toScan: Gate;
  /** For a job that was taken. `moved` is called whenever it has left a place, and not at the end. */
  enter(share: string, moved: () => void): HeldPlace;
}

/** The place that one job has. */
interface HeldPlace {
  /** False when as many suspects are tried already as may be, of all or of its share. */
  toTry(): boolean;
  /** Throws `Busy` when too many wait already, of all or of its share. */
  toWait(): void;
  /** Waits until there is a place again to scan, or to try. Throws `signal.reason`. */
  back(suspect: boolean, signal: AbortSignal): Promise<void>;
  /** False when too many finish already, of all or of its share: it stays where it is. */
  toFinish(): boolean;
  /** Throws `Busy` when too many deliver already, of all or of its share. */
  toDeliver(): void;
  leave(): void;
}

export function places(options: PlacesOptions, weightOf: WeightOf): Places {
  const { jobsAtOnce, spareJobs = 0, deliveriesAtOnce, slowAtOnce = jobsAtOnce, suspectsAtOnce = 1 } = options;
  const { deliveriesPerShare = deliveriesAtOnce, slowPerShare = slowAtOnce } = options;
  const { suspectsPerShare = suspectsAtOnce } = options;
  const { finishesAtOnce = jobsAtOnce + spareJobs, finishesPerShare = jobsAtOnce } = options;
  const toScan = gate({ slots: jobsAtOnce + spareJobs, perKey: jobsAtOnce, weightOf });
  const toWait = gate({ slots: slowAtOnce, perKey: slowPerShare });
  const toTry = gate({ slots: suspectsAtOnce, perKey: suspectsPerShare, weightOf });
  const toFinish = gate({ slots: finishesAtOnce, perKey: finishesPerShare });
  const toDeliver = gate({ slots: deliveriesAtOnce, perKey: deliveriesPerShare });

  return {
    toScan,

    enter(share, moved) {
      let leave = toScan.enterAnyway(share);
      /** The next place is entered already. */
      const moveTo = (leaveNext: Leave): void => {
        leave();
        leave = leaveNext;
        moved();
      };
      const tryMove = (next: Gate): boolean => {
        const leaveNext = next.tryEnter(share);
        if (leaveNext) moveTo(leaveNext);
        return leaveNext !== undefined;
      };
      return {
        toTry: () => tryMove(toTry),
        toWait() {
          if (!tryMove(toWait)) throw new Busy("too many jobs wait for slow sources already");
        },
        back: async (suspect, signal) => moveTo(await (suspect ? toTry : toScan).enter(signal, share)),
        toFinish: () => tryMove(toFinish),
        toDeliver() {
          if (!tryMove(toDeliver)) throw new Busy("too many jobs deliver already");
        },
        leave: () => leave(),
      };
    },
  };
}
