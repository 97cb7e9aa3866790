import { groupOf } from "../bearer-auth.ts";
import { Problem } from "../problem.ts";

/** Who tries keys at the door: five a minute and address, then nothing is looked at for the rest of that minute. */
export interface WrongLogins {
  /** Throws the 429 problem. */
  check(address: string): void;
  /** Answers whether it is worth a line in the audit log: who has many addresses must not fill that. */
  failed(address: string): boolean;
}

const MOST = 5;
const WITHIN_MS = 60_000;
/** So many of all addresses are written down in that time; the log has a line for each. */
const MOST_WRITTEN = 60;
/** Addresses that are remembered: they cost memory. */
const MOST_ADDRESSES = 10_000;

export function wrongLogins(now: () => number = () => performance.now()): WrongLogins {
  /** Times of wrong ones, oldest first; those that failed last stand last. */
  const failures = new Map<string, number[]>();
  let written: number[] = [];
  const lately = (group: string): number[] => (failures.get(group) ?? []).filter((at) => at > now() - WITHIN_MS);

  return {
    check(address) {
      const [oldest = 0, ...others] = lately(groupOf(address));
      if (others.length + 1 < MOST) return;
      throw new Problem(429, "too_many_logins", {
        message: "too many wrong logins came from this address",
        hint: "wait a minute",
        headers: { "Retry-After": String(Math.max(1, Math.ceil((oldest + WITHIN_MS - now()) / 1000))) },
      });
    },
    failed(address) {
      const group = groupOf(address);
      const times = [...lately(group), now()].slice(-MOST);
      failures.delete(group);
      failures.set(group, times);
      const [first] = failures.keys();
      if (failures.size > MOST_ADDRESSES && first !== undefined) failures.delete(first);
      written = written.filter((at) => at > now() - WITHIN_MS);
      if (written.length >= MOST_WRITTEN) return false;
      written.push(now());
      return true;
    },
  };
}
