import { type LoadResult, run } from "../load.ts";
import type { JobUrls } from "./loopback.ts";
import type { Side } from "./sides.ts";

export interface SubmitOptions {
  connections: number;
  /** Goes on for this long… */
  forMs?: number;
  /** …or until so many were submitted. */
  atMost?: number;
}

/** Submits jobs, each told apart by its custom_data, and each acknowledged with 204. */
export function submit(side: Side, { fileUrl, callbackUrl }: JobUrls, options: SubmitOptions): Promise<LoadResult> {
  const { connections, forMs = Number.POSITIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = options;
  const body = (index: number) =>
    JSON.stringify({ download_url: fileUrl, callback_url: callbackUrl, custom_data: `order ${4711 + index}` });
  return run({
    port: side.port,
    path: side.path,
    contentType: "application/json",
    body: (index) => [Buffer.from(body(index))],
    answer: { status: 204, text: "" },
    connections,
    forMs,
    atMost,
  });
}
