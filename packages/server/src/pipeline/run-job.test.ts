import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import type { ObjectScan } from "../deliver/render.ts";
import { Busy, EngineUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";
import { SourceFailed } from "../model/source.ts";
import type { JobRun } from "../queue/worker.ts";
import { company } from "../scan/company.ts";
import type { Engine } from "../scan/engine.ts";
import type { ObjectSteps } from "./finish-object.ts";
import type { Stages } from "./inspect.ts";
import type { Found } from "./keep-finding.ts";
import { type JobStages, runJob } from "./run-job.ts";

const seen = { bucket: "uploads", key: "bad.exe", version: "3", mark: "abc" };
const infected: Report = {
  verdict: { kind: "infected", finding: "Test" },
  sizeBytes: 68,
  downloadSeconds: 0,
  scanSeconds: 0,
  object: seen,
};

/** Stages of a scan that comes to this report. */
function scanOf({ verdict, object, sizeBytes }: Report, onScan = (): unknown => undefined): Stages {
  const bytes = (async function* () {
    yield new Uint8Array(sizeBytes);
  })();
  const engine: Pick<Engine, "scan"> = {
    async scan(shown) {
      onScan();
      await Array.fromAsync(shown);
      return verdict;
    },
  };
  return { open: async () => ({ bytes, ...(object && { object }) }), engine: engine as Engine, now: () => 0 };
}

/** A run that says what was done, in order. Parts of it may be replaced. */
function tried({ objects, ...parts }: Partial<Omit<JobStages, "objects">> & { objects?: Partial<ObjectSteps> } = {}) {
  const steps: string[] = [];
  const saved: Job[] = [];
  const found: Found[] = [];
  const lived: string[] = [];
  const stages: JobStages = {
    reportEventBus: false,
    scan: scanOf(infected, () => steps.push("scan")),
    limits: { maxBytes: 100 },
    trials: {
      engine: scanOf(infected, () => steps.push("scan alone")).engine,
      company: {
        async enterAlone() {
          steps.push("enter alone");
          return () => steps.push("leave");
        },
      },
      async hold(bytes) {
        const held = await Array.fromAsync(bytes);
        steps.push("hold");
        return {
          read: async function* () {
            yield* held;
          },
          release: () => steps.push("release"),
        };
      },
    },
    objects: {
      planned: () => "delete",
      async act(_, __, { stale }) {
        steps.push(stale ? "act late" : "act");
        return { action: "delete", changed: false };
      },
      async actInstead() {
        steps.push("act instead");
        return "tag";
      },
      async announce({ action }) {
        steps.push(`announce ${action}`);
      },
      ...objects,
    },
    announcer: {
      async downloadScan(_, failure) {
        steps.push(failure ? `announce ${failure.code}` : "announce");
      },
    },
    results: {
      async keep() {
        steps.push("keep");
      },
    },
    keepFinding: async (each) => void found.push(each),
    callbackFailures: {
      async record() {
        steps.push("record");
      },
    },
    callbacks: {
      async send() {
        steps.push("call back");
        return { delivered: true };
      },
    },
    now: () => 0,
    ...parts,
  };
  const run = (job: Job, suspect = false): Promise<Settlement> => {
    const jobRun: JobRun = {
      job,
      progress: job,
      async save(progress) {
        saved.push(progress);
        steps.push(`save${progress.told ? " told" : ""}`);
      },
      scanSignal: new AbortController().signal,
      suspect,
      async beginTrial() {
        steps.push("begin trial");
      },
      place: { leave: () => {}, retake: async () => {} },
      scanned: () => steps.push("leave place") > 0,
      delivering: () => steps.push("deliver"),
      record: ({ what, detail }) => void lived.push(detail === undefined ? what : `${what}: ${detail}`),
      note: () => {},
    };
    return runJob(jobRun, stages, new AbortController().signal);
  };
  return { steps, saved, found, lived, run, trials: stages.trials };
}

test("a suspect is scanned alone, with all its bytes here: what it answers for is saved before, and its report before it leaves", async () => {
  const { callback: _, traceId: __, ...job } = sampleJob();
  const { steps, saved, run } = tried();
  assert.equal((await run(job, true)).kind, "done");
  assert.deepEqual(saved[0]?.report?.verdict, infected.verdict);
  const alone = ["hold", "enter alone", "begin trial", "scan alone", "release", "save", "leave"];
  assert.deepEqual(steps, [...alone, "leave place", "announce"]);
});

test("a suspect that waited all its time for its turn is not reported as slow", async () => {
  const { callback: _, ...job } = sampleJob();
  const all = company({ headStartMs: 0 });
  const leave = await all.enterAlone({ share: "other", failedTrials: 0 }, new AbortController().signal);
  const { steps, run, trials } = tried({ limits: { maxBytes: 100, maxSeconds: 0.05 } });
  trials.company = all;
  await assert.rejects(run(job, true), Busy);
  assert.deepEqual(steps, ["hold", "release"]);
  leave();
});

describe("a job about an object", () => {
  const calledBack = sampleJob({ source: { kind: "object", bucket: "uploads", key: "bad.exe" } });
  const { callback: _, ...polled } = calledBack;
  const untilAnnounced = ["scan", "save", "leave place", "act", "keep", "announce delete"];

  test("has its report saved before the object is touched, and is announced before that fact is saved", async () => {
    const { steps, run } = tried();
    assert.equal((await run(calledBack)).kind, "done");
    assert.deepEqual(steps, [...untilAnnounced, "save told", "deliver", "call back"]);
  });

  test("is done when it is announced, if nobody is to be called back: nothing is saved before it is settled", async () => {
    const { steps, run } = tried();
    assert.equal((await run(polled)).kind, "done");
    assert.deepEqual(steps, untilAnnounced);
  });

  test("that died after the delete is not scanned again: the file is gone, the verdict is not", async () => {
    const first = tried();
    await first.run(polled);
    const second = tried();
    assert.equal((await second.run(first.saved[0] ?? polled)).kind, "done");
    assert.deepEqual(second.steps, ["leave place", "act late", "keep", "announce delete"]);
  });

  test("is not saved as announced when announcing fails, and then announces again", async () => {
    const failing = tried({ objects: { announce: () => Promise.reject(new Error("the topic is away")) } });
    await assert.rejects(failing.run(polled), /the topic is away/);
    assert.deepEqual(
      failing.saved.map(({ told }) => told),
      [undefined],
    );
  });

  test("that was replaced while it was scanned is kept and announced as not scanned, not as clean", async () => {
    const { version: _, ...unversioned } = seen;
    const clean: Report = { ...infected, verdict: { kind: "clean" }, object: unversioned };
    const kept: Report[] = [];
    const announced: Report[] = [];
    const replaced = tried({
      scan: scanOf(clean),
      objects: {
        act: async () => ({ action: "no", changed: true }),
        announce: async ({ report }) => void announced.push(report),
      },
      results: { keep: async (_, report) => void kept.push(report) },
    });
    assert.equal((await replaced.run(calledBack)).kind, "done");
    assert.deepEqual([kept[0]?.verdict.kind, replaced.saved[1]?.report?.verdict.kind], ["unscannable", "unscannable"]);
    assert.deepEqual(announced, kept);
  });

  test("that was announced is not acted on again when its callback is repeated", async () => {
    const { steps, run } = tried();
    await run({ ...sampleJob({ source: polled.source }), report: infected, action: "tag", told: true });
    assert.deepEqual(steps, ["deliver", "call back"]);
  });

  test("whose tag fails is tried again after 5, 10 and 15 s, then something else is tried and announced, with the same verdict", async () => {
    const announced: ObjectScan[] = [];
    const failing = tried({
      objects: {
        act: () => Promise.reject(new Error("cannot tag the object")),
        announce: async (scan) => void announced.push(scan),
      },
    });
    let job: Job = { ...polled, report: infected };
    for (const seconds of [5, 10, 15]) {
      const next = await failing.run(job);
      assert.ok(next.kind === "again");
      assert.deepEqual([next.afterSeconds, next.job.report], [seconds, infected]);
      job = next.job;
      assert.deepEqual(announced, []);
    }
    assert.equal((await failing.run(job)).kind, "done");
    assert.deepEqual([announced[0]?.action, announced[0]?.report], ["tag", infected]);
  });
});

describe("the life of a job", () => {
  const object = sampleJob({ source: { kind: "object", bucket: "uploads", key: "bad.exe" } });

  test("has each step in its order, and the job that is done goes to the history", async () => {
    const { lived, run } = tried({
      callbacks: {
        async send(_, __, ___, watching) {
          watching?.onPost?.({ attempt: 1, ms: 5, status: 503 });
          watching?.onPost?.({ attempt: 2, ms: 5, code: "ECONNREFUSED" });
          return { delivered: true };
        },
      },
    });
    const settled = await run(object);
    assert.ok(settled.kind === "done");
    assert.deepEqual([settled.job?.id, settled.job?.action, settled.job?.told], [object.id, "delete", true]);
    const scanned = ["downloaded", "scanned: infected Test", "acted: delete", "kept", "told"];
    assert.deepEqual(lived, [...scanned, "callback", "callback: ECONNREFUSED"]);
  });

  test("has the download that failed and why, a scan without a verdict, and an action that failed", async () => {
    const failure = { finding: "scanner:download-failed", code: "HTTP_503", message: "503", passing: true };
    const away = tried({ scan: { ...scanOf(infected), open: () => Promise.reject(new SourceFailed(failure)) } });
    assert.equal((await away.run(sampleJob())).kind, "again");
    assert.deepEqual(away.lived, ["downloaded: HTTP_503"]);
    const engine = { scan: () => Promise.reject(new EngineUnavailable("clamd is away")) } as unknown as Engine;
    const down = tried({ scan: { ...scanOf(infected), engine } });
    await down.run(sampleJob());
    assert.deepEqual(down.lived, ["scanned: no verdict: clamd is away"]);
    const locked = tried({ objects: { act: () => Promise.reject(new Error("locked")) } });
    await locked.run(object);
    assert.deepEqual(locked.lived, ["downloaded", "scanned: infected Test", "acted: failed"]);
  });
});

test("what is not clean is kept as a finding before the job is settled, once, with what was done", async () => {
  const job = sampleJob({ source: { kind: "object", bucket: "uploads", key: "bad.exe" } });
  const { found, saved, run } = tried();
  await run(job);
  assert.deepEqual(
    found.map(({ id, jobId, traceId, action, report }) => [id, jobId, traceId, action, report.verdict.kind]),
    [[job.id, job.id, job.traceId, "delete", "infected"]],
  );
  await run(saved[1] ?? job);
  assert.equal(found.length, 1);
});

describe("a job about a download", () => {
  const job = sampleJob();
  const { callback: _, ...polled } = job;

  test("is kept, then announced, then saved as announced, without the headers of its source", async () => {
    const { steps, saved, run } = tried();
    assert.equal((await run(job)).kind, "done");
    assert.deepEqual(steps, ["scan", "leave place", "keep", "announce", "save told", "deliver", "call back"]);
    const { source } = job;
    assert.ok(source.kind === "url");
    assert.deepEqual(saved[0]?.source, { ...source, headers: {}, deletedHeaders: Object.keys(source.headers) });
  });

  test("is not saved once more before it is settled, if nobody is to be called back", async () => {
    const { steps, run } = tried();
    assert.equal((await run(polled)).kind, "done");
    assert.deepEqual(steps, ["scan", "leave place", "keep", "announce"]);
  });

  test("is called back last; a failure is put off three times, then recorded, and announced where the bus has results", async () => {
    const failure = { code: "HTTP_500", message: "it answered 500", statusCode: 500, attempts: 6, lastAttemptAt: 0 };
    for (const reportEventBus of [true, false]) {
      const { steps, run } = tried({
        reportEventBus,
        callbacks: { send: async () => ({ delivered: false, failure }) },
      });
      let next = await run(job);
      for (const seconds of [5, 10, 15]) {
        assert.ok(next.kind === "again");
        assert.deepEqual([next.afterSeconds, next.job.report, next.job.told], [seconds, infected, true]);
        next = await run(next.job);
      }
      assert.equal(next.kind, reportEventBus ? "done" : "buried");
      const once = ["scan", "leave place", "keep", "announce", "save told"];
      const tries = ["deliver", "deliver", "deliver", "deliver", "record"];
      assert.deepEqual(steps, [...once, ...tries, ...(reportEventBus ? ["announce HTTP_500"] : [])]);
    }
  });
});
