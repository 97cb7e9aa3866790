import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type KeeperPlace, keeperPlace, news, newsSignature, verdict } from "../../../../test/support/keeper-place.ts";
import { eicarSignature } from "../../../../test/support/signatures.ts";
import { until } from "../../../../test/support/until.ts";
import { clamdBinary } from "../own-clamd.ts";

/** A program in the place of clamd. */
function program(here: KeeperPlace, script: string): string {
  const path = join(here.signaturesDir, "..", "program");
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

test("signatures that were refused are forgotten when others are taken, and when those in use are back", async () => {
  await using here = keeperPlace();
  await here.keep().started;
  const refused = (): boolean => here.state()?.refused !== undefined;
  for (const good of [eicarSignature, `${eicarSignature}${newsSignature}`]) {
    here.put("eicar.ndb", newsSignature);
    await until("they are refused", refused);
    here.put("eicar.ndb", good);
    await until("nothing is refused any more", () => !refused());
  }
  await until("the last are in use", () => readdirSync(join(here.dataDir, "clamd/signatures")).length === 1);
});

test("with no clamd in use, signatures that failed once are tried again soon: it may have been the machine", async () => {
  await using here = keeperPlace();
  const mark = join(here.signaturesDir, "..", "tried");
  const script = `#!/bin/sh\n[ -e ${mark} ] && exec ${clamdBinary()} "$@"\ntouch ${mark}\nexit 9\n`;
  const keeper = here.keep({ binary: program(here, script) });
  await assert.rejects(keeper.started, /cannot start clamd/);
  await until("clamd runs", () => here.state()?.state === "running");
  assert.equal(here.state()?.refused, undefined);
});

test("a keeper that can write nothing about itself goes on keeping clamd", async () => {
  await using here = keeperPlace();
  await here.keep().started;
  const engine = await here.engine();
  const blocked = join(here.dataDir, "clamd", "state.json.draft");
  mkdirSync(blocked);
  process.kill(here.state()?.pid ?? 0, "SIGKILL");
  await until("it is gone", () => here.lines.some(({ state }) => state === "ended"));
  await until("it is back", async () => (await verdict(engine, Buffer.from("fine"))) === "clean");
  here.put("news.ndb", newsSignature);
  await until("new ones are in use", async () => (await verdict(engine, news)) === "infected");
  rmSync(blocked, { recursive: true });
  assert.ok(here.lines.some(({ state }) => state === "not_told"));
});

test("a set of signatures of which a part is gone is not used again", async () => {
  await using here = keeperPlace();
  here.put("news.ndb", newsSignature);
  await using first = here.keep();
  await first.started;
  await first[Symbol.asyncDispose]();
  const set = join(here.dataDir, "clamd", "signatures", here.state()?.set ?? "");
  rmSync(join(set, "news.ndb"));
  await here.keep().started;
  assert.equal(await verdict(await here.engine(), news), "infected");
});

test("a keeper stops although the clamd whose signatures it tries has come to a halt", {
  timeout: 30_000,
}, async () => {
  await using here = keeperPlace();
  const mark = join(here.signaturesDir, "..", "asked");
  // It answers PING, and no scan.
  const script = `#!${process.execPath}
    const fs = require("node:fs");
    const conf = fs.readFileSync(process.argv[2].replace("--config-file=", ""), "utf8");
    require("node:net").createServer((socket) => socket.on("data", (asked) => {
      if (String(asked).startsWith("zPING")) socket.end("PONG");
      else fs.writeFileSync(${JSON.stringify(mark)}, "");
    })).listen(/^LocalSocket (.*)$/m.exec(conf)[1]);
  `;
  await using keeper = here.keep({ binary: program(here, script) });
  await until("it is asked to scan", () => existsSync(mark));
  await keeper[Symbol.asyncDispose]();
  assert.equal(here.state()?.state, "idle");
});
