import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import type { ObjectScan } from "../deliver/render.ts";
import { log } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import type { Report } from "../model/report.ts";
import {
  type FinishedScan,
  finishGuardedObject,
  finishJobObject,
  finishScanNow,
  type NowManner,
  type ObjectSteps,
  type ObjectStepsOptions,
  objectSteps,
  onAccountOf,
} from "./finish-object.ts";

const object = { bucket: "uploads", key: "bad.exe" };
const seen = { ...object, mark: "abc" };
const infected: Report = {
  verdict: { kind: "infected", finding: "Test" },
  sizeBytes: 68,
  downloadSeconds: 0,
  scanSeconds: 0,
  object: seen,
};
const clean: Report = { ...infected, verdict: { kind: "clean" } };
const never = new AbortController().signal;

/** A store and a topic that say what was done to them, in order. */
function tried(
  replaced: {
    objects?: Partial<ObjectStepsOptions["objects"]>;
    announce?: () => Promise<void>;
    timeoutMs?: number;
  } = {},
) {
  const done: string[] = [];
  const announced: ObjectScan[] = [];
  /** …and after how many of these it was kept. */
  const kept: string[] = [];
  const steps: ObjectSteps = objectSteps({
    objects: {
      async open() {
        done.push("open");
        return { bytes: (async function* () {})(), object: seen };
      },
      async delete() {
        done.push("delete");
        return "done";
      },
      async tag(_, { value, over }) {
        done.push(`tag ${value}${over === undefined ? "" : ` over ${over}`}`);
        return "done";
      },
      ...replaced.objects,
    },
    announcer: {
      async objectScan(scan) {
        await replaced.announce?.();
        announced.push(scan);
        done.push(`announce ${scan.report.verdict.kind} ${scan.action}`);
      },
    },
    policy: { deleteInfectedFiles: true, tagFiles: true, tagKey: "scan" },
    log: log({ level: "error", format: "json", write: () => {} }),
    ...(replaced.timeoutMs !== undefined && {
      actTimeoutMs: replaced.timeoutMs,
      announceTimeoutMs: replaced.timeoutMs,
    }),
  });
  const keep: NowManner["keep"] = async ({ report, action }) =>
    void kept.push(`${report.verdict.kind} ${action}: ${done.length}`);
  return { done, announced, kept, steps, keep };
}

const failing = (done: string[], what: string) => (): Promise<never> => {
  done.push(`${what} fails`);
  return Promise.reject(new Error(`cannot ${what} the object`));
};

describe("a scan that is no job", () => {
  test("announces a delete before it deletes, and does not announce it twice", async () => {
    const { done, steps, keep } = tried();
    const { report, action } = await finishScanNow(object, infected, { steps, keep });
    assert.deepEqual([report, action], [infected, "delete"]);
    assert.deepEqual(done, ["announce infected delete", "delete"]);
  });

  test("keeps what was found before it is deleted, and again when it was not", async () => {
    const deleted = tried();
    await finishScanNow(object, infected, deleted);
    const { object: _, ...given } = infected;
    const unknown = tried();
    await finishScanNow(object, given, unknown);
    const failed = tried({ objects: { delete: () => failing(failed.done, "delete")() } });
    await finishScanNow(object, infected, failed);
    assert.deepEqual(
      [deleted, unknown, failed].map(({ kept }) => kept),
      [["infected delete: 0"], ["infected delete: 0"], ["infected delete: 0", "infected tag: 5"]],
    );
  });

  test("keeps what was found of an object that stays, before it is announced", async () => {
    const tags = tried({ objects: { tag: async () => "changed" } });
    await finishScanNow(object, clean, tags);
    assert.deepEqual(tags.kept, ["unscannable no: 0"]);
    assert.equal(tags.done.length, 1);
  });

  test("deletes nothing when the delete cannot be announced", async () => {
    const { done, steps, keep } = tried({ announce: () => Promise.reject(new Error("the topic is away")) });
    await assert.rejects(finishScanNow(object, infected, { steps, keep }), /the topic is away/);
    assert.deepEqual(done, []);
  });

  test("announces a tag after it is set", async () => {
    const { done, announced, steps, keep } = tried();
    await finishScanNow(object, clean, { steps, keep });
    assert.deepEqual(done, ["tag clean", "announce clean tag"]);
    assert.doesNotMatch(announced[0]?.id ?? "", /corrected/);
  });

  test("tries a delete three times, then tags, and corrects what was announced under an id of its own", async () => {
    const { done, announced, steps, keep } = tried({ objects: { delete: () => failing(done, "delete")() } });
    const { action } = await finishScanNow(object, infected, { steps, keep });
    assert.equal(action, "tag");
    const fails = ["delete fails", "delete fails", "delete fails"];
    assert.deepEqual(done, ["announce infected delete", ...fails, "tag infected", "announce infected tag"]);
    assert.equal(announced[1]?.id, `${announced[0]?.id} corrected`);
  });

  test("announces an object that was replaced meanwhile as not scanned, not as clean", async () => {
    const { announced, steps, keep } = tried({ objects: { tag: async () => "changed" } });
    const { report, action } = await finishScanNow(object, clean, { steps, keep });
    assert.deepEqual([report.verdict.kind, action], ["unscannable", "no"]);
    assert.deepEqual([announced.length, announced[0]?.report], [1, report]);
  });

  test("whose version is not known deletes the one that is there, and announces it afterwards", async () => {
    const { object: _, ...given } = infected;
    const { done, steps, keep } = tried();
    await finishScanNow(object, given, { steps, keep });
    assert.deepEqual(done, ["open", "delete", "announce infected delete"]);
  });

  test("of a bucket that its tenant may not use touches nothing there, whatever the store said instead", async () => {
    const { object: _, ...report } = infected;
    const closed = { kind: "object", ...object, closed: true } as const;
    for (const verdict of [report.verdict, { kind: "unscannable", finding: "scanner:download-failed" }] as const) {
      const { done, steps, keep } = tried({ objects: { delete: () => Promise.reject(new Error("asked to delete")) } });
      await finishScanNow(closed, { ...report, verdict }, { steps, keep });
      assert.equal(await steps.actInstead(closed, { ...report, verdict }), "no");
      assert.deepEqual(done, [`announce ${verdict.kind} no`]);
    }
  });
});

describe("an object of a guarded bucket", () => {
  test("is announced and acted on in the order of a scan that is no job", async () => {
    const { done, steps, keep } = tried();
    const sleep = async (): Promise<void> => assert.fail("nothing to wait for");
    await finishGuardedObject(object, infected, { steps, keep, sleep }, never);
    assert.deepEqual(done, ["announce infected delete", "delete"]);
  });

  test("waits for a database that is locked, and deletes nothing before it is announced", async () => {
    let locked = 2;
    const { done, steps, keep } = tried({
      async announce() {
        if (--locked >= 0) throw new QueueUnavailable("the database is locked");
      },
    });
    const waits: string[] = [];
    const sleep = async (ms: number): Promise<void> => void waits.push(`${ms} ms`);
    const onQueueAway = ({ message }: Error): void => void waits.push(message);
    await finishGuardedObject(object, infected, { steps, keep, sleep, onQueueAway }, never);
    assert.deepEqual(waits, ["the database is locked", "5000 ms", "the database is locked", "5000 ms"]);
    assert.deepEqual(done, ["announce infected delete", "delete"]);
  });

  test("ends with what is no matter of waiting", async () => {
    const { steps, keep } = tried({ announce: () => Promise.reject(new Error("a bug")) });
    await assert.rejects(finishGuardedObject(object, infected, { steps, keep, sleep: async () => {} }, never), /a bug/);
  });
});

describe("an object of a job", () => {
  const source = { kind: "object", ...object } as const;
  const job = { ...sampleJob({ source }), source };

  /** Its report is saved by then. */
  function finished(report: Report, tries: ReturnType<typeof tried>, { stale = false } = {}) {
    return finishJobObject({ ...job, report }, tries.steps, {
      stale,
      signal: never,
      onFailedAction: () => void tries.done.push("noted"),
      beforeAnnouncing: async ({ action }: FinishedScan) => void tries.done.push(`keep ${action}`),
    });
  }

  test("is deleted, then its result is kept, then it is announced: once, under the job's id, with its words", async () => {
    const tries = tried();
    await finished(infected, tries);
    assert.deepEqual(tries.done, ["delete", "keep delete", "announce infected delete"]);
    const { id, tenant, traceId, customData } = job;
    assert.deepEqual(tries.announced, [
      { id, tenant, traceId, customData, object: source, report: infected, action: "delete" },
    ]);
  });

  test("is not announced when its result cannot be kept", async () => {
    const tries = tried();
    const keeping = finishJobObject({ ...job, report: clean }, tries.steps, {
      stale: false,
      signal: never,
      onFailedAction: () => {},
      beforeAnnouncing: () => Promise.reject(new Error("the disk is full")),
    });
    await assert.rejects(keeping, /the disk is full/);
    assert.deepEqual(tries.done, ["tag clean"]);
  });

  test("whose delete fails is put off and neither kept nor announced, then tagged instead", async () => {
    const tries = tried({ objects: { delete: () => failing(tries.done, "delete")() } });
    const next = await finished(infected, tries);
    assert.ok(next.kind === "again");
    assert.deepEqual([next.afterSeconds, next.job.failedActions, next.job.report], [5, 1, infected]);
    assert.deepEqual(tries.done, ["delete fails", "noted"]);

    const last = tried({ objects: { delete: () => failing(last.done, "delete")() } });
    await finishJobObject({ ...job, report: infected, failedActions: 3 }, last.steps, {
      stale: true,
      signal: never,
      onFailedAction: () => {},
      beforeAnnouncing: async () => {},
    });
    assert.deepEqual(last.done, ["delete fails", "tag infected", "announce infected tag"]);
  });

  test("takes the place of no later finding when its report is old", async () => {
    const tries = tried();
    await finished(clean, tries, { stale: true });
    assert.deepEqual(tries.done, ["tag clean over clean", "keep tag", "announce clean tag"]);
  });
});

describe("what never ends", () => {
  const silent = (): Promise<never> => new Promise(() => {});
  const source = { kind: "object", ...object } as const;
  const job = { ...sampleJob({ source }), source };
  const finishing = (tries: ReturnType<typeof tried>, signal: AbortSignal = never) =>
    finishJobObject({ ...job, report: clean }, tries.steps, {
      stale: false,
      signal,
      onFailedAction: () => void tries.done.push("noted"),
      beforeAnnouncing: async () => void tries.done.push("keep"),
    });

  test("a store that heeds no signal: the job is put off when the time for one try is over", async () => {
    const tries = tried({ objects: { tag: silent }, timeoutMs: 20 });
    assert.equal((await finishing(tries)).kind, "again");
    assert.deepEqual(tries.done, ["noted"]);
  });

  test("a topic: the job fails when its time is over, and is not taken for announced", async () => {
    const tries = tried({ announce: silent, timeoutMs: 20 });
    await assert.rejects(finishing(tries), /timeout/);
    assert.deepEqual(tries.done, ["tag clean", "keep"]);
  });

  test("ends with its job, and is not counted as a failed try", async () => {
    const stop = new AbortController();
    const tries = tried({ objects: { tag: silent } });
    const ended = finishing(tries, stop.signal);
    stop.abort(new Error("the worker is stopping"));
    await assert.rejects(ended, /the worker is stopping/);
    assert.deepEqual(tries.done, []);
  });
});

test("a tag or delete that fails is logged with the tenant and the key that asked", async () => {
  const lines: string[] = [];
  const steps = objectSteps({
    objects: {
      open: () => Promise.reject(new Error("not asked for")),
      delete: () => Promise.reject(new Error("the store is away")),
      tag: () => Promise.reject(new Error("not asked for")),
    } as unknown as ObjectStepsOptions["objects"],
    announcer: { objectScan: async () => {} },
    policy: { tagFiles: false, deleteInfectedFiles: true } as ObjectStepsOptions["policy"],
    log: log({ level: "error", format: "json", write: (line) => void lines.push(line) }),
  });
  const own = onAccountOf({ tenant: "shop", key: "web" }, steps);
  await assert.rejects(own.act(object, infected, { stale: false }), /away/);
  const { event, bucket, tenant, key } = JSON.parse(lines.join(""));
  assert.deepEqual([event, bucket, tenant, key], ["object_action", "uploads", "shop", "web"]);
});
