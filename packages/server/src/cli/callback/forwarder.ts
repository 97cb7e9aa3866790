import { reasonOf, wrongUsage } from "../outcome/command-failed.ts";
import type { IncomingCallback } from "./reception.ts";

/** As long as the server waits for the whole of it. */
const TIMEOUT_MS = 14_000;
/** Belong to the connection that the callback came by. */
const LEFT_OUT = ["host", "connection", "keep-alive", "content-length", "transfer-encoding", "expect", "te", "upgrade"];

/** Hands a callback on with the same bytes and headers, and answers what the receiver answered. Never throws. */
export function forwarder(url: string): (request: IncomingCallback) => Promise<{ status: number; text: string }> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw wrongUsage(`${url} is no URL`, "--forward-to http://localhost:3000/…");
  }
  return async ({ body, headers }) => {
    const kept = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      LEFT_OUT.includes(name) || value === undefined ? [] : [[name, [value].flat().join(", ")]],
    );
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(url, {
        method: "POST",
        headers: kept,
        body: Buffer.from(body),
        redirect: "manual",
        signal,
      });
      return { status: response.status, text: (await response.text()).trim() };
    } catch (error) {
      return { status: 502, text: `cannot forward to ${url}: ${reasonOf(error)}` };
    }
  };
}
