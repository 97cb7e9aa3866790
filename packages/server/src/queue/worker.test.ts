import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cleanReport, sampleJob } from "../../test/contracts/sample-job.ts";
import { until } from "../../test/support/until.ts";
import { log } from "../log.ts";
import { Busy, QueueUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import { done, type Settlement } from "../model/settlement.ts";
import type { JobQueue, Lease } from "./job-queue.ts";
import { type JobRun, LeaseLost, startWorker, type WorkerOptions } from "./worker.ts";

/** A queue that hands out leases as it is given them, and records what becomes of them. */
function queueOf(count: number, lease: Partial<Lease> = {}) {
  const settled: Settlement[] = [];
  const waiting = Array.from({ length: count }, (): Lease => {
    const settle = async (settlement: Settlement): Promise<boolean> => {
      settled.push(settlement);
      return true;
    };
    return { job: sampleJob(), attempt: 1, extend: async () => true, save: async () => true, settle, ...lease };
  });
  const queue: JobQueue = {
    add: async () => {},
    take: async (limit) => waiting.splice(0, limit),
    wait: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    unfinished: async () => undefined,
    counts: async () => ({ ready: 0, delayed: 0, leased: 0, buried: 0, oldestSeconds: 0 }),
  };
  return { queue, settled, waiting };
}

function workerOn(queue: JobQueue, run: WorkerOptions["run"], options: Partial<WorkerOptions> = {}) {
  const lines: Record<string, unknown>[] = [];
  const say = log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) });
  return { worker: startWorker({ queue, run, jobsAtOnce: 2, deliveriesAtOnce: 10, log: say, ...options }), lines };
}

test("no more jobs scan at once than there are slots", async () => {
  const { queue, settled, waiting } = queueOf(6);
  const finish: (() => void)[] = [];
  const { worker } = workerOn(queue, () => new Promise((resolve) => finish.push(() => resolve(done))));
  await until("two run", () => finish.length === 2);
  assert.deepEqual([worker.running, waiting.length], [2, 4]);
  while (settled.length < 6) {
    finish.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await worker.stop(1000);
});

test("a job that only waits for its receiver leaves its slot to the next", async () => {
  const { queue, waiting } = queueOf(6);
  const finish: (() => void)[] = [];
  const deliver = (run: JobRun): Promise<Settlement> => {
    run.delivering();
    return new Promise((resolve) => finish.push(() => resolve(done)));
  };
  const { worker } = workerOn(queue, deliver);
  await until("all six deliver", () => finish.length === 6);
  assert.equal(waiting.length, 0);
  for (const end of finish) end();
  await worker.stop(1000);
});

test("a job that is scanned leaves its slot to the next while it is written, and no more are scanned than can be written", async () => {
  const { queue, settled, waiting } = queueOf(6);
  const finish: (() => void)[] = [];
  const write = (run: JobRun): Promise<Settlement> => {
    run.scanned();
    return new Promise((resolve) => finish.push(() => resolve(done)));
  };
  const { worker } = workerOn(queue, write);
  await until("two are written, and two that are scanned hold the slots", () => finish.length === 4);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([finish.length, waiting.length], [4, 2]);
  while (settled.length < 6) {
    finish.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await worker.stop(1000);
});

test("of the places to finish one share cannot take those that are spare, either", async () => {
  const { queue } = queueOf(0);
  const mine = sampleJob();
  const others = sampleJob({ tenant: "another" });
  const waiting = [mine, mine, mine, mine, mine, mine, others, others];
  const finishing: string[] = [];
  const choosing: JobQueue = {
    ...queue,
    async take(limit, shares) {
      const isFull = (tenant: string): boolean => (shares?.held.get(tenant) ?? 0) >= (shares?.perShare ?? 0);
      const next = waiting.findIndex(({ tenant }) => !isFull(tenant));
      const [job] = next < 0 || limit === 0 ? [] : waiting.splice(next, 1);
      if (!job) return [];
      return [{ job, attempt: 1, extend: async () => true, save: async () => true, settle: async () => true }];
    },
  };
  const { worker } = workerOn(
    choosing,
    (run, signal) => {
      run.scanned();
      finishing.push(run.job.tenant);
      return untilAborted(signal);
    },
    { jobsAtOnce: 2, spareJobs: 1 },
  );
  const run = (tenant: string): number => finishing.filter((each) => each === tenant).length;
  await until("both of the others have a place", () => run("another") === 2);
  assert.deepEqual(
    [run(mine.tenant), waiting.length],
    [4, 2],
    "two of mine finish, and two stay where they were scanned",
  );
  await worker.stop(0);
});

test("jobs whose tags hang leave the places to scan to others, however many there are of two shares", async () => {
  const { queue } = queueOf(0);
  const waiting = [
    ...Array.from({ length: 20 }, () => [sampleJob(), sampleJob({ tenant: "slow too" })]).flat(),
    sampleJob({ tenant: "third" }),
  ];
  const choosing: JobQueue = {
    ...queue,
    async take(limit, shares) {
      const isFull = (tenant: string): boolean => (shares?.held.get(tenant) ?? 0) >= (shares?.perShare ?? 0);
      const next = waiting.findIndex(({ tenant }) => !isFull(tenant));
      const [job] = next < 0 || limit === 0 ? [] : waiting.splice(next, 1);
      if (!job) return [];
      return [{ job, attempt: 1, extend: async () => true, save: async () => true, settle: async () => true }];
    },
  };
  let [third, putBack] = [false, 0];
  const { worker } = workerOn(
    choosing,
    async (run, signal) => {
      const moved = run.scanned();
      if (run.job.tenant === "third") third = true;
      if (moved) return untilAborted(signal);
      putBack += 1;
      return done;
    },
    { jobsAtOnce: 2, spareJobs: 1, finishesAtOnce: 12, finishesPerShare: 5 },
  );
  await until("the third is scanned", () => third);
  assert.equal(putBack, 30);
  await worker.stop(0);
  assert.equal(worker.running, 0);
});

test("beyond the limit of deliveries a job is told that it is too many, and scans go on", async () => {
  const { queue, settled } = queueOf(4);
  const finish: (() => void)[] = [];
  let busy = 0;
  const deliver = (run: JobRun): Promise<Settlement> => {
    try {
      run.delivering();
    } catch (error) {
      assert.ok(error instanceof Busy);
      busy += 1;
      return Promise.resolve(done);
    }
    return new Promise((resolve) => finish.push(() => resolve(done)));
  };
  const { worker } = workerOn(queue, deliver, { deliveriesAtOnce: 2 });
  await until("two are too many", () => busy === 2 && settled.length === 2);
  assert.equal(finish.length, 2);
  for (const end of finish) end();
  await worker.stop(1000);
});

test("a job whose lease was lost is stopped, and nothing is written", async () => {
  const { queue, settled } = queueOf(1, { extend: async () => false });
  const { worker, lines } = workerOn(
    queue,
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    { leaseSeconds: 0.03 },
  );
  await until("it is logged", () => lines.length === 1);
  assert.deepEqual([settled, lines[0]?.settlement], [[], "lease lost"]);
  await worker.stop(1000);
});

test("a save without a lease throws, so that nothing is delivered twice", async () => {
  const { queue } = queueOf(1, { save: async () => false });
  let thrown: unknown;
  const { worker, lines } = workerOn(queue, async (run) => {
    await run.save(run.job).catch((error) => {
      thrown = error;
      throw error;
    });
    return done;
  });
  await until("it is logged", () => lines.length === 1);
  assert.ok(thrown instanceof LeaseLost);
  await worker.stop(1000);
});

test("a run that throws is put back for a while: the fault is ours, not the job's", async () => {
  const { queue, settled } = queueOf(1);
  const { worker, lines } = workerOn(queue, async () => {
    throw new Error("a bug");
  });
  await until("it is logged", () => lines.length === 1);
  const [settlement] = settled;
  assert.deepEqual([settlement?.kind, settlement?.kind === "again" && settlement.afterSeconds], ["again", 30]);
  assert.deepEqual([lines[0]?.settlement, lines[0]?.error, lines[0]?.level], ["fault", "a bug", "error"]);
  await worker.stop(1000);
});

/** A queue that hands a job out again as it was put back, whatever the delay. */
function queueAgain(job = sampleJob()) {
  const settled: Settlement[] = [];
  const { queue } = queueOf(0);
  let waiting: Job | undefined = job;
  const take = async (): Promise<Lease[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    const taken = waiting;
    waiting = undefined;
    if (!taken) return [];
    const settle = async (settlement: Settlement): Promise<boolean> => {
      settled.push(settlement);
      if (settlement.kind === "again") waiting = settlement.job;
      return true;
    };
    return [{ job: taken, attempt: 1, extend: async () => true, save: async () => true, settle }];
  };
  return { queue: { ...queue, take }, settled };
}

test("what was to be saved when the queue could not be reached is put back: it may have been written all the same", async () => {
  const save = async (): Promise<boolean> => {
    throw new QueueUnavailable("the answer was lost");
  };
  const { queue, settled } = queueOf(1, { save });
  const scanned: Job = { ...sampleJob(), report: cleanReport };
  const { worker } = workerOn(queue, async (run) => {
    await run.save(scanned);
    return done;
  });
  await until("it is put back", () => settled.length === 1);
  const [back] = settled;
  assert.ok(back?.kind === "again");
  assert.deepEqual(back.job.report, cleanReport);
  await worker.stop(1000);
});

test("a job whose run always throws waits longer each time, and is buried with the error at the fifth", async () => {
  const { queue, settled } = queueAgain();
  const { worker, lines } = workerOn(queue, async () => {
    throw new Error("a bug");
  });
  await until("it is buried", () => lines.length === 5);
  await worker.stop(1000);
  assert.deepEqual(
    settled.map((each) => (each.kind === "again" ? each.afterSeconds : each.kind === "buried" && each.reason)),
    [30, 60, 120, 240, "fault: a bug"],
  );
  assert.deepEqual([lines[4]?.settlement, lines[4]?.error, lines[4]?.level], ["buried", "a bug", "error"]);
});

test("a queue that cannot be reached is not held against the job", async () => {
  const { queue, settled } = queueAgain();
  const { worker } = workerOn(queue, async () => {
    throw new QueueUnavailable("the disk is full");
  });
  await until("it came often", () => settled.length >= 12);
  await worker.stop(1000);
  assert.ok(settled.every((each) => each.kind === "again" && each.job.failedRuns === 0 && each.afterSeconds <= 30));
});

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });

test("on stop jobs that fetch or scan are put back at once, as far as they got", async () => {
  const { queue, settled } = queueOf(1);
  const { worker } = workerOn(queue, async (run) => {
    await run.save({ ...run.job, failedDownloads: 2 });
    return untilAborted(run.scanSignal);
  });
  await until("it runs", () => worker.running === 1);
  await worker.stop(2 ** 31 - 1);
  const [settlement] = settled;
  assert.ok(settlement?.kind === "again");
  assert.deepEqual([settlement.afterSeconds, settlement.job.failedDownloads], [0, 2]);
});

test("on stop jobs that deliver finish within the grace time, and the rest are put back", async () => {
  const { queue, settled } = queueOf(2);
  const finish: (() => void)[] = [];
  const { worker } = workerOn(queue, (run, signal) => {
    run.delivering();
    const delivered = new Promise<Settlement>((resolve) => finish.push(() => resolve(done)));
    return Promise.race([delivered, untilAborted(signal)]);
  });
  await until("both deliver", () => finish.length === 2);
  const stopped = worker.stop(50);
  finish[0]?.();
  await stopped;
  assert.deepEqual(settled.map(({ kind }) => kind).toSorted(), ["again", "done"]);
});

test("stops although a run hangs that heeds no signal", async () => {
  const { queue } = queueOf(1);
  const { worker } = workerOn(queue, () => new Promise(() => {}));
  await until("it runs", () => worker.running === 1);
  await worker.stop(0);
});

test("one share cannot take the spare places, and is told to the queue as full", async () => {
  const { queue } = queueOf(0);
  const asked: { limit: number; held: number | undefined }[] = [];
  const mine = sampleJob();
  const others = sampleJob({ tenant: "another" });
  const waiting = [mine, mine, mine, others];
  const run = new Set<string>();
  const choosing: JobQueue = {
    ...queue,
    async take(limit, shares) {
      const held = shares?.held.get(mine.tenant);
      asked.push({ limit, held });
      const full = (held ?? 0) >= (shares?.perShare ?? 0);
      const next = waiting.findIndex(({ tenant }) => !full || tenant !== mine.tenant);
      const [job] = next < 0 ? [] : waiting.splice(next, 1);
      if (!job) return [];
      return [{ job, attempt: 1, extend: async () => true, save: async () => true, settle: async () => true }];
    },
  };
  const { worker } = workerOn(
    choosing,
    ({ job, scanSignal }) => {
      run.add(job.tenant);
      return untilAborted(scanSignal);
    },
    { jobsAtOnce: 2, spareJobs: 1 },
  );
  await until("the other's job runs", () => run.has("another"));
  assert.deepEqual([worker.running, waiting.length], [3, 1]);
  assert.ok(asked.some(({ limit, held }) => limit === 1 && held === 2));
  await worker.stop(1000);
});

test("a job whose source is slow leaves its place to the next, and waits for one when the bytes are here", async () => {
  const { queue, waiting } = queueOf(3);
  const runs: { run: JobRun; signal: AbortSignal; end(): void }[] = [];
  const { worker } = workerOn(
    queue,
    (run, signal) => new Promise((resolve) => runs.push({ run, signal, end: () => resolve(done) })),
    { jobsAtOnce: 1, slowAtOnce: 1 },
  );
  await until("one runs", () => runs.length === 1);
  const [first] = runs;
  first?.run.place.leave();
  await until("the second runs", () => runs.length === 2);
  assert.throws(() => runs[1]?.run.place.leave(), Busy);
  let back = false;
  const retaken = first?.run.place.retake(first.signal).then(() => {
    back = true;
  });
  assert.deepEqual([back, waiting.length], [false, 1]);
  runs[1]?.end();
  await retaken;
  assert.deepEqual([runs.length, waiting.length], [2, 1], "who was here before comes first");
  first?.end();
  await until("the third runs", () => runs.length === 3);
  runs[2]?.end();
  await worker.stop(1000);
});

test("a queue that cannot be asked is asked again", async () => {
  const { queue, settled } = queueOf(1);
  let asked = 0;
  const flaky: JobQueue = {
    ...queue,
    async take(limit) {
      asked += 1;
      if (asked === 1) throw new Error("the disk is full");
      return queue.take(limit);
    },
  };
  const { worker, lines } = workerOn(flaky, async () => done);
  await until("the job is done", () => settled.length === 1);
  assert.equal(lines[0]?.error, "the disk is full");
  await worker.stop(1000);
});

describe("a suspect", () => {
  const died = { attempt: 2 };

  test("is told to its run, leaves its place to others, and is put back when too many are tried already", async () => {
    const { queue, settled } = queueOf(2, died);
    const suspects: boolean[] = [];
    const end = Promise.withResolvers<Settlement>();
    const { worker, lines } = workerOn(queue, (run) => {
      suspects.push(run.suspect);
      return end.promise;
    });
    await until("one is put back", () => settled.length === 1);
    const [next] = settled;
    assert.ok(next?.kind === "again");
    assert.deepEqual([next.job.suspect, next.job.lostLeases, suspects], [true, 1, [true]]);
    end.resolve(done);
    await until("both are logged", () => lines.length === 2);
    assert.ok(lines.every(({ suspect }) => suspect === true));
    await worker.stop(1000);
  });

  test("is none any more once it was scanned", async () => {
    const { queue } = queueOf(1, { ...died, job: sampleJob({ report: cleanReport, failedTrials: 3 }) });
    const { worker, lines } = workerOn(queue, async (run) => {
      assert.equal(run.suspect, false);
      return done;
    });
    await until("it is logged", () => lines.length === 1);
    assert.equal(lines[0]?.settlement, "done");
    await worker.stop(1000);
  });

  test("answers for the worker's death from the moment its trial begins, and not if the worker is stopped", async () => {
    const saved: Job[] = [];
    const save = async (job: Job): Promise<boolean> => saved.push(job) > 0;
    const { queue, settled } = queueOf(1, { ...died, job: sampleJob({ failedTrials: 1 }), save });
    const { worker } = workerOn(queue, async (run) => {
      await run.beginTrial();
      return untilAborted(run.scanSignal);
    });
    await until("its trial began", () => saved.length === 1);
    await worker.stop(1000);
    const [next] = settled;
    assert.ok(next?.kind === "again");
    assert.deepEqual([saved[0]?.failedTrials, next.job.failedTrials, next.job.suspect], [2, 1, true]);
    assert.deepEqual([saved[0]?.lostLeases, next.job.lostLeases], [0, 1], "what the queue counts is not counted twice");
  });

  test("whose lease was lost begins no trial", async () => {
    const { queue } = queueOf(1, { ...died, save: async () => false });
    const { worker, lines } = workerOn(queue, async (run) => {
      await run.beginTrial();
      return done;
    });
    await until("it is logged", () => lines.length === 1);
    assert.equal(lines[0]?.settlement, "lease lost");
    await worker.stop(1000);
  });

  for (const deaths of [{ failedTrials: 3 }, { lostLeases: 19 }]) {
    test(`is buried as poison, and not run again, with ${JSON.stringify(deaths)}`, async () => {
      const { queue, settled } = queueOf(1, { ...died, job: sampleJob(deaths) });
      const { worker, lines } = workerOn(queue, async () => assert.fail("it ran"));
      await until("it is logged", () => lines.length === 1);
      assert.deepEqual([settled[0]?.kind, lines[0]?.settlement, lines[0]?.reason], ["buried", "buried", "poison"]);
      await worker.stop(1000);
    });
  }
});
