import { randomUUID } from "node:crypto";

const COUNTS = 0x1000;
let count = 0;

/** A UUID of version 7: ids that are made one after the other stand beside each other in an index. */
export function newJobId(now: number = Date.now()): string {
  const time = now.toString(16).padStart(12, "0").slice(-12);
  count = (count + 1) % COUNTS;
  const counted = count.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counted}-${randomUUID().slice(19)}`;
}
