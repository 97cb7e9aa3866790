import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseSoakArguments } from "./soak/arguments.ts";
import { book } from "./soak/book.ts";
import { driftOf, type Point } from "./soak/drift.ts";
import { endure } from "./soak/endure.ts";

/** As many as half an hour has. */
const READINGS = 180;
const BOUND = { share: 0.1, atLeast: 10 };

/** Noise that is the same in every run, between -1 and 1. */
const noise = (index: number): number => Math.sin(index * 12.9898) * Math.cos(index * 78.233);
const series = (of: (index: number) => number): Point[] =>
  Array.from({ length: READINGS }, (_, index) => ({ seconds: index * 10, value: of(index) }));

describe("something drifts", () => {
  for (const [what, of] of Object.entries<(index: number) => number>({
    "when it grows steadily beyond its bound, in noise of the same size": (index) =>
      400 + index * 0.4 + noise(index) * 70,
    "when it grows by one step in the middle": (index) => (index < 90 ? 400 : 470),
    "when it grows by steps": (index) => 400 + Math.floor(index / 30) * 20,
    "when it grows faster and faster": (index) => 400 + (index / 180) ** 2 * 150,
  })) {
    it(what, () => assert.equal(driftOf(series(of), BOUND).drifts, true));
  }
});

describe("nothing drifts", () => {
  for (const [what, of] of Object.entries<(index: number) => number>({
    "when there is only noise": (index) => 400 + noise(index) * 150,
    "when it grows by less than its bound": (index) => 400 + index * 0.2,
    "when it becomes less": (index) => 400 - index,
    "when there are tall peaks at the end": (index) => (index > 165 ? 4000 : 400),
    "when there are tall peaks now and then": (index) => (index % 20 === 19 ? 2000 : 400),
    "when it has two levels, and the upper one a little more often at the end": (index) =>
      (index * 61) % 100 < 47 + index / 30 ? 500 : 400,
    "when it swings": (index) => 400 + Math.sin(index / 5) * 100,
    "when there is nothing at all": () => 0,
  })) {
    it(what, () => assert.equal(driftOf(series(of), BOUND).drifts, false));
  }

  it("by a share of nothing: what is small has a bound of its own", () => {
    assert.equal(
      driftOf(
        series((index) => 1 + index / 30),
        BOUND,
      ).drifts,
      false,
    );
    assert.equal(
      driftOf(
        series((index) => 1 + index / 10),
        BOUND,
      ).drifts,
      true,
    );
  });
});

describe("the book of jobs", () => {
  const clean = { status: "clean", size: 4 } as const;

  it("finds nothing wrong with jobs that end once, as they should, also before they are answered", () => {
    const kept = book();
    const [one, other] = [kept.submitting(clean), kept.submitting(clean)];
    kept.answered(one.number, "acknowledged");
    kept.result(one.number, clean);
    kept.result(other.number, clean);
    kept.answered(other.number, "acknowledged");
    kept.close();
    assert.deepEqual(kept.counts, { acknowledged: 2, unanswered: 0, refused: 0, ended: 2, wrong: 0 });
  });

  it("misses a job that was acknowledged and never ended, and no other", () => {
    const kept = book();
    const [owed, unanswered, refused] = [kept.submitting(clean), kept.submitting(clean), kept.submitting(clean)];
    kept.answered(owed.number, "acknowledged");
    kept.answered(unanswered.number, "unanswered");
    kept.answered(refused.number, "refused");
    assert.equal(kept.owed, 1);
    kept.close();
    assert.deepEqual(kept.wrong, [`job ${owed.number} was acknowledged, and has not ended`]);
  });

  it("notices an end that comes twice, one of a job that was refused, and a verdict that is wrong", () => {
    const kept = book();
    const [twice, refused, wrong] = [kept.submitting(clean), kept.submitting(clean), kept.submitting(clean)];
    for (let times = 0; times < 2; times += 1) kept.result(twice.number, clean);
    kept.answered(refused.number, "refused");
    kept.result(refused.number, clean);
    kept.result(wrong.number, { status: "infected", finding: "Something", size: 4 });
    assert.match(kept.wrong.join("\n"), /1 ended twice\n.*2 ended, and was never accepted\n.*3: expected .*Something/);
  });
});

it("arguments that make no sense are refused", () => {
  const wrong = [
    "--minutes=0",
    "--minutes=x",
    "--share=1.5",
    "--rate=0",
    "--idle=-1",
    "--engine=R",
    "--leak=all",
    "--scans=10",
    "--fast",
  ];
  for (const arg of wrong) assert.match(String(parseSoakArguments([arg])), new RegExp(arg.split("=")[0] ?? ""));
});

// Long enough to have every part in it; drift is not asked for, which needs a run of minutes.
it("a short run has all its verdicts, loses no job and holds its idle connections", { timeout: 120_000 }, async () => {
  const short = { minutes: 0.06, share: 0.7, rate: 15, idle: 20, engine: "Q" } as const;
  const said: string[] = [];
  const run = await endure({ ...short, leak: undefined, scans: undefined }, (line) => void said.push(line));
  assert.deepEqual(run.wrong, []);
  assert.equal(run.totals.done, run.totals.due);
  assert.ok(run.totals.done >= 50, said.join("\n"));
  assert.ok(run.counts.acknowledged > 0);
  assert.ok(run.counts.ended >= run.counts.acknowledged);
  assert.match(said.join("\n"), /idle connections: 20\./);
});
