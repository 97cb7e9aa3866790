import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Verdict } from "../model/verdict.ts";
import { actOnObject, plannedAction } from "./act-on-object.ts";
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
  assert.equal(await actOnObject(report("no"), store("done"), policy), "tag");
  assert.equal(
    await actOnObject(report("infected"), store("done"), { ...policy, deleteInfectedFiles: true }),
    "delete",
  );
  assert.equal(await actOnObject(report("clean"), store("changed"), policy), "no");
  const { object: _, ...unopened } = report("no");
  assert.equal(await actOnObject(unopened, store("done"), policy), "no");
  assert.deepEqual(asked, [
    [object, { key: "scanner", value: "no" }],
    [object],
    [object, { key: "scanner", value: "clean" }],
  ]);
});
