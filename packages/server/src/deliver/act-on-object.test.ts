import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Verdict } from "../model/verdict.ts";
import { actOnObject, plannedAction, reportAfterAction } from "./act-on-object.ts";
import type { ActionOutcome, ObjectActions } from "./object-actions.ts";

const verdicts: Record<string, Verdict> = {
  clean: { kind: "clean" },
  infected: { kind: "infected", finding: "x" },
  no: { kind: "unscannable", finding: "x" },
};
const policy = { deleteInfectedFiles: false, tagFiles: true, tagKey: "scanner" };
const object = { bucket: "b", key: "k", version: "3", mark: "m" };

function report(status: string, parts: Partial<Report> = {}): Report {
  const verdict = verdicts[status] ?? { kind: "clean" };
  return { verdict, sizeBytes: 1, downloadSeconds: 0, scanSeconds: 0, object, ...parts };
}

test("infected objects are deleted when that is asked for, all others are tagged, unless tags are off", () => {
  const table: [status: string, deletes: boolean, tags: boolean, planned: ObjectAction][] = [
    ["clean", false, true, "tag"],
    ["clean", true, true, "tag"],
    ["clean", true, false, "no"],
    ["infected", false, true, "tag"],
    ["infected", true, true, "delete"],
    ["infected", true, false, "delete"],
    ["infected", false, false, "no"],
    ["no", true, true, "tag"],
    ["no", true, false, "no"],
  ];
  for (const [status, deleteInfectedFiles, tagFiles, planned] of table) {
    const verdict = verdicts[status] ?? { kind: "clean" };
    assert.equal(plannedAction(verdict, { ...policy, deleteInfectedFiles, tagFiles }), planned, status);
  }
});

test("what is told is what was done: nothing, when the object is another by now or was never opened", async () => {
  const asked: unknown[] = [];
  const store = (outcome: ActionOutcome): ObjectActions => ({
    async tag(seen, tag) {
      asked.push([seen, tag]);
      return outcome;
    },
    async delete(seen) {
      asked.push([seen]);
      return outcome;
    },
  });
  const acted = (on: Report, outcome: ActionOutcome, options: { stale?: boolean; deletes?: boolean } = {}) =>
    actOnObject(on, {
      actions: store(outcome),
      policy: { ...policy, deleteInfectedFiles: options.deletes ?? false },
      stale: options.stale ?? false,
    });
  assert.deepEqual(await acted(report("no"), "done"), { action: "tag", changed: false });
  assert.deepEqual(await acted(report("infected"), "done", { deletes: true }), { action: "delete", changed: false });
  assert.deepEqual(await acted(report("clean"), "changed"), { action: "no", changed: true });
  assert.deepEqual(await acted(report("clean"), "kept", { stale: true }), { action: "no", changed: false });
  const { object: _, ...unopened } = report("no");
  assert.deepEqual(await acted(unopened, "done"), { action: "no", changed: false });
  assert.deepEqual(asked, [
    [object, { key: "scanner", value: "no" }],
    [object],
    [object, { key: "scanner", value: "clean" }],
    [object, { key: "scanner", value: "clean", over: "clean" }],
  ]);
});

test("an object that was replaced while it was scanned is not clean, where only its name tells which one is meant", () => {
  const changed = { action: "no", changed: true } as const;
  const { version: _, ...unversioned } = object;
  const clean = report("clean", { object: unversioned });
  assert.equal(reportAfterAction(clean, { ...changed, changed: false }), clean);
  const infected = report("infected", { object: unversioned });
  assert.equal(reportAfterAction(infected, changed), infected);
  const versioned = report("clean");
  assert.equal(reportAfterAction(versioned, changed), versioned);
  const markedByUs = report("clean", { object: { ...object, unversioned: true } });
  for (const each of [clean, markedByUs]) {
    const { verdict, failure } = reportAfterAction(each, changed);
    assert.deepEqual(verdict, { kind: "unscannable", finding: "scanner:download-failed" });
    assert.equal(failure?.code, "object_changed");
  }
});
