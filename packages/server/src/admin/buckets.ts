import type { ObjectSchema } from "@lazaret/contract";
import type { AdminBucket, AdminPage, AdminTask } from "@lazaret/contract/admin";
import type { GuardResult } from "../guard/guard-bucket.ts";
import { SourceFailed } from "../model/source.ts";
import { checkBody, readJsonObject } from "../receive/body/json-body.ts";
import type { CheckObject } from "../receive/body/submission.ts";
import { badRequest, Problem } from "../receive/problem.ts";
import type { ApiRequest } from "../receive/request-answer.ts";
import type { ConsoleCaller } from "../receive/route.ts";
import type { Tasks } from "./tasks.ts";

export interface BucketParts {
  /** Those that are known without asking a store for all it has. */
  names(): Promise<readonly string[]>;
  /** One pass over what is in a bucket now. */
  guard(pass: BucketPass, signal: AbortSignal): Promise<void>;
  checkObject: CheckObject;
  tasks: Tasks;
  /** Tags and deletes that failed, by bucket. */
  failedActions: ReadonlyMap<string, number>;
  now(): number;
}

interface BucketPass {
  bucket: string;
  prefix?: string;
  onTotal(objects: number): void;
  onResult(result: GuardResult): void;
}

export interface Buckets {
  list(): Promise<AdminPage<AdminBucket>>;
  scan(request: ApiRequest, caller: ConsoleCaller): Promise<AdminTask>;
}

type LastPass = Pick<AdminBucket, "last_scan_at" | "objects" | "infected"> & { task: string };

/** Buckets that were scanned by this process are known; so many of them. */
const MOST_KNOWN = 1000;

const scanSchema: ObjectSchema = {
  type: "object",
  required: ["bucket"],
  properties: {
    bucket: { type: "string", description: "The bucket's name.", minLength: 1, maxLength: 255 },
    prefix: { type: "string", description: "Only keys that begin so.", maxLength: 1024 },
  },
};

export function buckets(parts: BucketParts): Buckets {
  const { tasks, now } = parts;
  const passes = new Map<string, LastPass>();

  return {
    async list() {
      const names = new Set([...(await parts.names()), ...passes.keys(), ...parts.failedActions.keys()]);
      return { entries: [...names].sort().map(shown) };
    },

    async scan(request, caller) {
      const body = await readJsonObject(request);
      const { bucket, prefix } = checkBody<{ bucket: string; prefix?: string }>(body, scanSchema);
      const problem = parts.checkObject({ bucket, key: "any" });
      if (problem) throw badRequest("invalid_object", problem);
      refuseWhileRunning(bucket);
      const on = prefix === undefined ? bucket : `${bucket}/${prefix}*`;
      await caller.record(on);
      // Somebody else may have begun meanwhile.
      refuseWhileRunning(bucket);
      const pass: LastPass = { task: "", objects: 0, infected: 0 };
      const task = tasks.start({ what: "guard", on }, async (progress, signal) => {
        await parts
          .guard(
            {
              bucket,
              ...(prefix !== undefined && { prefix }),
              onTotal: progress.total,
              onResult({ report }) {
                pass.objects = (pass.objects ?? 0) + 1;
                if (report.verdict.kind === "infected") pass.infected = (pass.infected ?? 0) + 1;
                if (report.verdict.kind === "unscannable") progress.failed();
                else progress.done();
              },
            },
            signal,
          )
          .catch((error) => {
            throw error instanceof SourceFailed ? new Error(`cannot list ${bucket}: ${error.message}`) : error;
          })
          .finally(() => {
            pass.last_scan_at = now();
          });
      });
      pass.task = task.id;
      if (passes.size < MOST_KNOWN || passes.has(bucket)) passes.set(bucket, pass);
      return task;
    },
  };

  function refuseWhileRunning(bucket: string): void {
    const task = tasks.find(passes.get(bucket)?.task ?? "");
    if (!task || task.ended_at !== undefined) return;
    throw new Problem(409, "under_way", { message: `a scan of ${bucket} is under way`, hint: "wait, or stop it" });
  }

  function shown(bucket: string): AdminBucket {
    const { task: id, ...pass } = passes.get(bucket) ?? { task: "" };
    const task = tasks.find(id);
    const failures = parts.failedActions.get(bucket) ?? 0;
    return {
      bucket,
      ...pass,
      ...(failures > 0 && { tag_failures: failures }),
      ...(task && { task }),
    };
  }
}
