import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Evidence, judge } from "../../../../chaos/judge.ts";
import { judgeKept, type Kept } from "../../../../chaos/kept.ts";
import type { Entry, Post } from "../../../../chaos/ledger.ts";
import { plannedJob } from "../../../../chaos/plan.ts";
import { seeded } from "../../../../chaos/seeded.ts";
import { eicar } from "../support/eicar.ts";
import { watchChild } from "../support/leftovers.ts";

const run = fileURLToPath(new URL("../../../../chaos/run.ts", import.meta.url));

/** In a run this small a kill has a larger share of the jobs. No receiver is deaf and no file kills, as those take minutes. */
const small = "--gap-seconds 1 --deaf-share 0 --duplicate-share 0.5 --killers 0 --json";

interface SmallOutcome {
  breaches: unknown[];
  kills: Record<string, number>;
  acknowledged: number;
}

async function keepsItsPromises(targets: readonly string[], options: string): Promise<SmallOutcome> {
  const args = `${small} ${options}`.split(" ");
  const child = spawn(process.execPath, [run, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  watchChild(child.pid ?? 0);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  assert.ok(stdout !== "", stderr);
  const outcome = JSON.parse(stdout);
  assert.deepEqual(outcome.breaches, [], stderr);
  assert.equal(child.exitCode, 0);
  assert.equal(outcome.acknowledged, outcome.delivered + outcome.polled + outcome.buried);
  assert.deepEqual(Object.keys(outcome.kills), targets);
  assert.ok(Object.values(outcome.kills).every((count) => Number(count) >= 1));
  return outcome;
}

/** Side by side: most of their time they wait for leases to run out. */
describe("chaos", { concurrency: true }, () => {
  const onOneFolder = ["api", "worker 1", "worker 2", "clamd"];

  // spec: state-1
  test("jobs that were acknowledged survive kill -9 of API, workers and clamd: none is lost, no verdict is wrong", async () => {
    const { acknowledged } = await keepsItsPromises(onOneFolder, "--seed 3 --jobs 120 --kills 6");
    assert.ok(acknowledged >= 120, `${acknowledged}`);
  });

  test("so they do with two APIs and three workers on PostgreSQL, which is killed as well", async () => {
    const targets = ["api 1", "api 2", "worker 1", "worker 2", "worker 3", "clamd", "postgres"];
    const options = "--platform postgres --seed 3 --jobs 120 --kills 7";
    const { acknowledged } = await keepsItsPromises(targets, options);
    assert.ok(acknowledged >= 120, `${acknowledged}`);
  });
});

describe("the judge of the chaos run", () => {
  const job = {
    ...plannedJob(1, { random: seeded(1), deafShare: 0, jobs: 100, killers: 0 }),
    file: "small",
    answer: "callback",
  } as const;
  const right = { status: "clean", size: 4096 } as const;
  const downloadUrl = "http://127.0.0.1/small";
  const payload = { ...right, trace_id: job.traceId, custom_data: job.customData, download_url: downloadUrl };
  const post: Post = { deliveryId: "a", signed: true, payload, accepted: true };
  const entry: Entry = {
    job,
    downloadUrl,
    acknowledged: true,
    downloads: 1,
    downloadsAfterCallback: 0,
    posts: [post],
    results: [right],
  };
  const polled: Entry = { ...entry, job: { ...job, answer: "poll" }, posts: [] };
  const unscanned: Entry = { ...entry, posts: [], results: [] };
  const deaf: Entry = { ...entry, job: { ...job, answer: "deaf" }, posts: [{ ...post, accepted: false }] };
  const killer: Entry = { ...unscanned, job: { ...job, file: "killer" } };
  const letter = { id: "a", reason: "poison", job: { traceId: job.traceId } };
  const failed = { ...letter, reason: "scanner:callback-failed: the receiver answered 503, 24 attempts" };
  const evidence = (each: Entry, more: Partial<Evidence> = {}): Evidence => ({
    entries: [each],
    deadLetters: [],
    duplicateShare: 2,
    ...more,
  });

  const fine: Record<string, Evidence> = {
    "a signed delivery with the right verdict": evidence(entry),
    "a delivery after one that failed": evidence({ ...entry, posts: [{ ...post, accepted: false }, post] }),
    "a second delivery with the same id": evidence({ ...entry, posts: [post, post] }),
    "a right poll result": evidence(polled),
    "a dead letter of a deaf receiver": evidence(deaf, { deadLetters: [failed] }),
    "a dead letter of a file that kills": evidence(killer, { deadLetters: [letter] }),
    "a job of AWS that ran as a whole once more": evidence(
      { ...entry, downloadsAfterCallback: 1, posts: [post, post] },
      { mayRunAgain: true },
    ),
    "nothing of a job that was not acknowledged": evidence({ ...unscanned, acknowledged: false }),
  };
  for (const [what, shown] of Object.entries(fine)) {
    test(`is content with ${what}`, () => assert.deepEqual(judge(shown).breaches, []));
  }

  const infected = { ...post, payload: { ...payload, status: "infected" } };
  const broken: [what: string, evidence: Evidence, kinds: string[]][] = [
    ["an acknowledged job without an end", evidence(unscanned), ["lost"]],
    ["a job of a deaf receiver without a dead letter", evidence(deaf), ["lost"]],
    ["a wrong verdict in a callback", evidence({ ...entry, posts: [infected] }), ["wrong verdict"]],
    [
      "a wrong verdict in a callback that was refused",
      evidence({ ...entry, posts: [{ ...infected, accepted: false }, post] }),
      ["wrong verdict"],
    ],
    [
      "a wrong verdict of a job that was not acknowledged",
      evidence({ ...polled, acknowledged: false, results: [{ ...right, status: "no" }] }),
      ["wrong verdict"],
    ],
    ["a wrong size", evidence({ ...polled, results: [{ ...right, size: 1 }] }), ["wrong verdict"]],
    ["a poll that changes its mind", evidence({ ...polled, results: [{ status: "no" }, right] }), ["wrong verdict"]],
    [
      "a callback without a good signature",
      evidence({ ...entry, posts: [{ ...post, signed: false }] }),
      ["not signed"],
    ],
    [
      "custom data that was changed",
      evidence({ ...entry, posts: [{ ...post, payload: { ...payload, custom_data: "?" } }] }),
      ["changed on the way"],
    ],
    [
      "a second delivery with another id",
      evidence({ ...entry, posts: [post, { ...post, deliveryId: "b" }] }),
      ["another delivery id"],
    ],
    ["a download after a callback", evidence({ ...entry, downloadsAfterCallback: 1 }), ["scanned again"]],
    ["a callback before the result was kept", evidence({ ...entry, results: [] }), ["no stored result"]],
    ["a delivery and a dead letter", evidence(entry, { deadLetters: [letter] }), ["ended twice", "buried in vain"]],
    [
      "a dead letter of a receiver that listens",
      evidence({ ...entry, posts: [{ ...post, accepted: false }] }, { deadLetters: [failed] }),
      ["buried in vain"],
    ],
    ["a dead letter of a bystander", evidence(unscanned, { deadLetters: [letter] }), ["buried in vain"]],
    ["a deaf receiver's job that is buried as poison", evidence(deaf, { deadLetters: [letter] }), ["buried in vain"]],
    ["a file that kills and is nowhere", evidence(killer), ["lost", "not buried"]],
    [
      "a file that kills and has a verdict",
      evidence({ ...killer, results: [{ status: "no", size: 1052 }] }, { deadLetters: [letter] }),
      ["wrong verdict"],
    ],
    ["a dead letter twice", evidence(killer, { deadLetters: [letter, letter] }), ["strange"]],
    ["a dead letter of nobody", evidence(entry, { deadLetters: [{ id: "b", reason: "poison" }] }), ["strange"]],
    [
      "too many second deliveries",
      evidence({ ...entry, posts: [post, post] }, { duplicateShare: 0.1 }),
      ["too many duplicates"],
    ],
  ];
  for (const [what, shown, kinds] of broken) {
    test(`sees ${what}`, () => {
      assert.deepEqual(
        judge(shown).breaches.map(({ kind }) => kind),
        kinds,
      );
    });
  }
});

describe("the judge of what is kept", () => {
  const job = { ...plannedJob(1, { random: seeded(1), deafShare: 0, jobs: 100, killers: 0 }), file: "eicar" } as const;
  const { traceId } = job;
  const entry: Entry = {
    job,
    downloadUrl: "http://127.0.0.1/eicar",
    acknowledged: true,
    downloads: 1,
    downloadsAfterCallback: 0,
    posts: [],
    results: [],
  };
  const steps = ["accepted", "taken", "done"].map((what, at) => ({ at, what }));
  const done = { id: "1", job: { traceId }, life: { steps } };
  const sha256 = createHash("sha256").update(eicar()).digest("hex");
  const found = { traceId, verdict: "infected", finding: "Eicar-Test-Signature", sizeBytes: 68, sha256 };
  const right = { entries: [entry], deadLetters: [], finished: [done], findings: [found] };
  const clean: Entry = { ...entry, job: { ...job, file: "small" } };

  test("has nothing against each job once, with the truth about it", () => {
    assert.deepEqual(judgeKept(right), []);
    assert.deepEqual(judgeKept({ ...right, entries: [clean], findings: [] }), []);
    const letter = { id: "1", reason: "callback-failed", job: { traceId } };
    assert.deepEqual(judgeKept({ ...right, finished: [], deadLetters: [letter] }), []);
    assert.deepEqual(
      judgeKept({ ...right, entries: [{ ...entry, acknowledged: false }], finished: [], findings: [] }),
      [],
    );
  });

  const wrongs: Record<string, Partial<Kept>> = {
    "a job that is not in the history": { finished: [] },
    "a job that is there twice": { finished: [done, { ...done, id: "2" }] },
    "a finding that is missing": { findings: [] },
    "a finding that is there twice": { findings: [found, found] },
    "another digest": { findings: [{ ...found, sha256: "ab" }] },
    "a finding of a clean file": { entries: [clean] },
    "a life that ends in the middle": { finished: [{ ...done, life: { steps: steps.slice(0, 2) } }] },
    "a life in another order": {
      finished: [{ ...done, life: { steps: steps.map((step) => ({ ...step, at: -step.at })) } }],
    },
  };
  for (const [what, parts] of Object.entries(wrongs)) {
    test(`sees ${what}`, () => {
      assert.deepEqual(
        judgeKept({ ...right, ...parts }).map(({ kind, job }) => [kind, job]),
        [["kept wrong", traceId]],
      );
    });
  }
});
