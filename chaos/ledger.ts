import type { ScanResult } from "../packages/contract/src/index.ts";
import type { PlannedJob } from "./plan.ts";

/** All that was seen of one submission, from outside. */
export interface Entry {
  job: PlannedJob;
  downloadUrl: string;
  /** Answered with 201 or 204: from then on the service owes an end. */
  acknowledged: boolean;
  /** How often its file was asked for, and how often after its first callback. */
  downloads: number;
  downloadsAfterCallback: number;
  posts: Post[];
  /** What polls said: each answer that differs from the one before. */
  results: ScanResult[];
}

/** A callback that was read to its end. */
export interface Post {
  deliveryId: string;
  signed: boolean;
  payload: Record<string, unknown>;
  /** It was answered with 2xx, as far as the receiver can tell. */
  accepted: boolean;
}

export interface Ledger {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly acknowledged: number;
  /** What no entry stands for: a callback for a job that nobody submitted, a redirect that was followed. */
  readonly strange: string[];
  submitting(job: PlannedJob, downloadUrl: string): Entry;
  acknowledge(entry: Entry): void;
  downloaded(traceId: string): void;
  posted(traceId: string, post: Post): void;
  polled(traceId: string, result: ScanResult): void;
}

export function ledger(): Ledger {
  const entries = new Map<string, Entry>();
  const strange: string[] = [];
  let acknowledged = 0;

  function about(traceId: string, what: string, note: (entry: Entry) => void): void {
    const entry = entries.get(traceId);
    if (entry) note(entry);
    else strange.push(`${what} for ${traceId}, which nobody submitted`);
  }

  return {
    entries,
    strange,
    get acknowledged() {
      return acknowledged;
    },
    submitting(job, downloadUrl) {
      const entry: Entry = {
        job,
        downloadUrl,
        acknowledged: false,
        downloads: 0,
        downloadsAfterCallback: 0,
        posts: [],
        results: [],
      };
      entries.set(job.traceId, entry);
      return entry;
    },
    acknowledge(entry) {
      entry.acknowledged = true;
      acknowledged += 1;
    },
    downloaded: (traceId) =>
      about(traceId, "a download", (entry) => {
        entry.downloads += 1;
        if (entry.posts.length > 0) entry.downloadsAfterCallback += 1;
      }),
    posted: (traceId, post) => about(traceId, "a callback", (entry) => entry.posts.push(post)),
    polled: (traceId, result) =>
      about(traceId, "a result", ({ results }) => {
        if (JSON.stringify(results.at(-1)) !== JSON.stringify(result)) results.push(result);
      }),
  };
}
