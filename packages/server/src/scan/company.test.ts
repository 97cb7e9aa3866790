import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { until } from "../../test/support/until.ts";
import { type CompanyOptions, company, inCompany, type Suspect } from "./company.ts";
import type { Engine } from "./engine.ts";

const never = new AbortController().signal;
/** A time that no test lasts. */
const LONG = 600_000;

/** Who came in, in order. */
function watched(options: CompanyOptions = {}) {
  const all = company({ headStartMs: 0, leaveMs: LONG, aloneMs: LONG, ...options });
  const entered: string[] = [];
  return {
    ...all,
    entered,
    async other(name: string) {
      const leave = all.tryEnter() ?? (await all.enter(never));
      entered.push(name);
      return leave;
    },
    async suspect(name: string, more: Partial<Suspect> = {}) {
      const leave = await all.enterAlone({ share: "mine", failedTrials: 0, ...more }, never);
      entered.push(name);
      return leave;
    },
  };
}

describe("company", () => {
  test("others scan side by side; a suspect waits for them to leave, and who comes waits for the suspect", async () => {
    const all = watched();
    const [leaveOne, leaveTwo] = [await all.other("one"), await all.other("two")];
    const suspect = all.suspect("suspect");
    const late = all.other("late");
    leaveOne();
    await turn();
    assert.deepEqual(all.entered, ["one", "two"]);
    leaveTwo();
    const leave = await suspect;
    await turn();
    assert.deepEqual(all.entered, ["one", "two", "suspect"]);
    leave();
    await late;
    assert.deepEqual(all.entered, ["one", "two", "suspect", "late"]);
  });

  test("between two suspects those go who came meanwhile, for as long as the first has cost them", async () => {
    let now = 0;
    const all = watched({ now: () => now });
    const leave = await all.suspect("first");
    const second = all.suspect("second");
    const other = all.other("other");
    now = 50;
    leave();
    const leaveOther = await other;
    leaveOther();
    await turn();
    assert.deepEqual(all.entered, ["first", "other"]);
    now = 100;
    await second;
    assert.deepEqual(all.entered, ["first", "other", "second"]);
  });

  test("a suspect does not wait for ever for those who are in, nor others for it", async () => {
    const all = watched({ leaveMs: 5, aloneMs: 5 });
    await all.other("slow");
    await all.suspect("suspect");
    await all.other("late");
    assert.deepEqual(all.entered, ["slow", "suspect", "late"]);
  });

  test("a process that has just begun lets others go first", async () => {
    let now = 0;
    const all = watched({ now: () => now, headStartMs: 20 });
    const suspect = all.suspect("suspect");
    await all.other("other").then((leave) => leave());
    assert.deepEqual(all.entered, ["other"]);
    now = 20;
    await suspect;
  });

  test("the least suspicious comes first, then the one whose share has fewest in line, then whoever came first", async () => {
    const all = watched();
    const leave = await all.suspect("now");
    const order = ["3", "4", "5", "2", "1"];
    const suspects = [
      { failedTrials: 1, share: "crowd" },
      { failedTrials: 1, share: "crowd" },
      { failedTrials: 2, share: "another" },
      { failedTrials: 1, share: "mine" },
      { failedTrials: 0, share: "crowd" },
    ];
    const all5 = suspects.map(async (more, index) => (await all.suspect(order[index] ?? "", more))());
    leave();
    await Promise.all(all5);
    assert.deepEqual(all.entered, ["now", "1", "2", "3", "4", "5"]);
  });

  test("who gives up, in line or when it is its turn, holds up nobody", async () => {
    const all = watched();
    const leave = await all.other("one");
    const giveUp = [new AbortController(), new AbortController()];
    const suspects = giveUp.map(({ signal }) => all.enterAlone({ share: "mine", failedTrials: 0 }, signal));
    const waits = new AbortController();
    const other = all.enter(waits.signal);
    for (const each of [waits, ...giveUp.toReversed()]) each.abort(new Error("given up"));
    for (const each of [...suspects, other]) await assert.rejects(each, /given up/);
    await all.other("two");
    leave();
    await assert.rejects(
      all.enterAlone({ share: "mine", failedTrials: 0 }, AbortSignal.abort(new Error("late"))),
      /late/,
    );
    await all.other("three");
    assert.deepEqual(all.entered, ["one", "two", "three"]);
  });

  test("leaving twice is leaving once", async () => {
    const all = watched();
    const [leaveOne] = [await all.other("one"), await all.other("two")];
    leaveOne();
    leaveOne();
    const suspect = all.suspect("suspect");
    await turn();
    assert.deepEqual(all.entered, ["one", "two"]);
    void suspect;
  });

  test("an engine in company scans when nobody is alone, and leaves however the scan ends", async () => {
    const all = watched();
    let scans = 0;
    const engine = inCompany(
      {
        async scan() {
          scans += 1;
          if (scans === 1) throw new Error("it failed");
          return { kind: "clean" };
        },
      } as unknown as Engine,
      all,
    );
    async function* nothing(): AsyncGenerator<Uint8Array> {}
    await assert.rejects(engine.scan(nothing(), never), /it failed/);
    const leave = await all.suspect("suspect");
    const scan = engine.scan(nothing(), never);
    await turn();
    assert.equal(scans, 1);
    leave();
    assert.deepEqual(await scan, { kind: "clean" });
    await until("the next is alone", async () => (await all.suspect("next")) !== undefined);
  });
});
