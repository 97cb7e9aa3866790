import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eicar } from "../../../../test/support/eicar.ts";
import { keeperPlace, news, newsSignature, verdict } from "../../../../test/support/keeper-place.ts";
import { dailyDatabase, eicarSignature } from "../../../../test/support/signatures.ts";
import { until } from "../../../../test/support/until.ts";
import { ownClamd } from "../own-clamd.ts";
import { writeKeeperState } from "./keeper-state.ts";

test("new signatures are used once they have passed their self-test, and no verdict of before outlives them", async () => {
  await using here = keeperPlace();
  await here.keep().started;
  const engine = await here.engine();
  assert.equal(await verdict(engine, eicar()), "infected");
  assert.equal(await verdict(engine, news), "clean");
  assert.equal(await verdict(engine, news), "cached clean");

  // With a connection that is kept.
  let { pid } = here.state() ?? {};
  here.put("news.ndb", newsSignature);
  await until("they are in use", () => here.state()?.pid !== pid);
  assert.equal(await verdict(engine, news), "infected");
  assert.equal(await verdict(engine, news), "cached infected");

  // While scans go on all the time: none of them fails.
  pid = here.state()?.pid;
  here.put("news.ndb", `${newsSignature}${newsSignature.replace("News", "More")}`);
  await until("the next are in use", async () => {
    assert.equal(await verdict(engine, Buffer.from(`fine ${performance.now()}`)), "clean");
    return here.state()?.pid !== pid;
  });
  await until(
    "the clamd of before is gone",
    () => readdirSync(join(here.dataDir, "clamd")).filter((name) => name.startsWith("r-")).length === 1,
  );
  assert.equal(readdirSync(join(here.dataDir, "clamd/signatures")).length, 1);
});

test("signatures that do not find EICAR, find something everywhere, or do not load are refused, loudly, and the old ones stay", async () => {
  await using here = keeperPlace();
  await here.keep().started;
  const engine = await here.engine();
  const { set, pid } = here.state() ?? {};
  const bad: [string, string, RegExp][] = [
    ["eicar.ndb", newsSignature, /do not find the EICAR test file/],
    [
      "eicar.ndb",
      `${eicarSignature}Fox:0:*:${Buffer.from("quick brown fox").toString("hex")}\n`,
      /harmless file \(text\) infected: Fox/,
    ],
    ["eicar.ndb", "not a signature at all\n", /cannot start clamd/],
  ];
  for (const [name, content, why] of bad) {
    here.put(name, content);
    await until(`it is refused: ${why}`, () => why.test(here.state()?.refused?.why ?? ""));
    assert.match(String(here.lines.findLast(({ event }) => event === "signatures_refused")?.error), why);
    assert.deepEqual([here.state()?.set, here.state()?.pid], [set, pid]);
    assert.equal(await verdict(engine, Buffer.concat([eicar(), Buffer.from(String(why))])), "infected");
  }
  const { ready, checks } = await engine.health(AbortSignal.timeout(60_000));
  const said = checks.find((check) => check.name === "new signatures");
  assert.equal(ready, true);
  assert.match(
    said?.detail ?? "",
    /^NEW SIGNATURES REFUSED at 20.*those in use stay: cannot start clamd .*Malformed database \(eicar\.ndb\)$/,
  );
  assert.ok((said?.refusedAt ?? 0) > 0);

  // Others that are good end it.
  here.put("eicar.ndb", `${eicarSignature}${newsSignature}`);
  await until("the next are in use", async () => /infected/.test(await verdict(engine, news)));
  assert.notEqual(here.state()?.set, set);
});

test("signatures that lack a database which is in use are refused, though they pass their self-test", async () => {
  await using here = keeperPlace();
  here.put("daily.cud", dailyDatabase({ version: 1, builtAt: Date.now(), signatures: newsSignature }));
  await here.keep().started;
  const engine = await here.engine();
  assert.equal(await verdict(engine, news), "infected");
  rmSync(join(here.signaturesDir, "daily.cud"));
  await until("they are refused", () => /they lack daily, which is in use/.test(here.state()?.refused?.why ?? ""));
  assert.equal(await verdict(engine, Buffer.concat([news, news])), "infected");
});

test("a clamd that is killed is started again, and nothing is clean meanwhile", async () => {
  await using here = keeperPlace();
  const pauses: number[] = [];
  const pauseSeconds = (ends: number): number => {
    pauses.push(ends);
    return 0;
  };
  await here.keep({ pauseSeconds }).started;
  const engine = await here.engine();
  assert.equal(await verdict(engine, Buffer.from("fine")), "clean");
  for (const _ of [1, 2]) {
    const { pid = 0 } = here.state() ?? {};
    process.kill(pid, "SIGKILL");
    await until("it is gone", () => here.lines.some((line) => line.state === "ended" && line.pid === pid));
    const said = await verdict(engine, Buffer.from(`not seen before ${pid}`));
    assert.ok(said === "none" || here.state()?.state === "running", said);
    await until("it is back", async () => (await verdict(engine, Buffer.from("fine"))) === "clean");
    assert.notEqual(here.state()?.pid, pid);
  }
  assert.deepEqual(pauses, [1, 2]);
});

test("with `alone` the old clamd is gone before the new one starts, and comes back when the signatures are refused", async () => {
  await using here = keeperPlace();
  await here.keep({ signaturesSwitch: "alone" }).started;
  const engine = await here.engine();
  here.put("eicar.ndb", newsSignature);
  await until("they are refused", () => here.state()?.refused !== undefined && here.state()?.state === "running");
  assert.equal(await verdict(engine, eicar()), "infected");
  here.put("eicar.ndb", `${eicarSignature}${newsSignature}`);
  await until("they are in use", async () => /infected/.test(await verdict(engine, news)));
});

test("without signatures there is no clamd, and readiness says what to do; it starts when they come", async () => {
  await using here = keeperPlace();
  rmSync(join(here.signaturesDir, "eicar.ndb"));
  const keeper = here.keep();
  const engine = await here.engine();
  await until("it is told", () => here.state()?.state === "idle");
  const { ready, checks } = await engine.health(AbortSignal.timeout(60_000));
  assert.equal(ready, false);
  assert.match(checks[0]?.detail ?? "", /^no signatures in .*: run freshclam/);
  assert.equal(await verdict(engine, Buffer.from("fine")), "none");
  here.put("eicar.ndb", eicarSignature);
  await keeper.started;
  assert.equal(await verdict(engine, Buffer.from("fine")), "clean");
});

test("of two services on one data folder one keeps clamd, and the other takes over", async () => {
  await using here = keeperPlace();
  const first = here.keep();
  await first.started;
  const { pid } = here.state() ?? {};
  const second = here.keep();
  await second.started;
  assert.equal(here.state()?.pid, pid);
  await first[Symbol.asyncDispose]();
  await until("the other keeps one", () => here.state()?.state === "running" && here.state()?.pid !== pid);
  assert.equal(here.lines.filter(({ state }) => state === "started").length, 2);
});

test("a clamd whose keeper was killed ends with it, and one that did not is ended by the next", async () => {
  await using here = keeperPlace();
  const script = `
    import { keepClamd } from ${JSON.stringify(import.meta.resolve("./keep-clamd.ts"))};
    const log = Object.assign(() => {}, { error: () => {}, debug: () => {} });
    const { dataDir, signaturesDir } = ${JSON.stringify(here)};
    const keeper = keepClamd({ dataDir, signaturesDir, signaturesSwitch: "beside", config: {}, log, pauseSeconds: () => 0 });
    await keeper.started;
    process.stdout.write("started");
    setInterval(() => {}, 1000);
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(parent.stdout, "data");
  const { pid = 0 } = here.state() ?? {};
  assert.equal(runs(pid), true);
  const exited = once(parent, "exit");
  parent.kill("SIGKILL");
  await exited;
  await until("clamd is gone", () => !runs(pid));

  // One that nobody ended: as if the watcher had been killed, too.
  const folder = join(here.dataDir, "clamd", "r-left");
  mkdirSync(folder, { recursive: true });
  await using left = await ownClamd({ folder, signaturesDir: here.signaturesDir });
  const before = here.state();
  assert.ok(before);
  writeKeeperState(join(here.dataDir, "clamd"), { ...before, pid: left.pid });
  await here.keep().started;
  assert.equal(await left.ended, "SIGKILL");
  assert.ok(!readdirSync(join(here.dataDir, "clamd")).includes("r-left"));
});

/** A process that ended, but that its new parent has not noticed yet, does not run any more. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
