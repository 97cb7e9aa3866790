import { hash } from "node:crypto";

/** The id of one message about a job, as a UUID: the same whenever it is told again. */
export function messageId(jobId: string, what: string): string {
  const digits = hash("sha256", `${what}\0${jobId}`);
  // Version 8 and the usual variant: a UUID of our own making.
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, `a${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20, 32)].join("-");
}
