import assert from "node:assert/strict";
import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eicar } from "../../../test/support/eicar.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { rulesEngine, verdictOf } from "../../../test/support/rules-engine.ts";
import { until } from "../../../test/support/until.ts";
import type { Engine } from "../../scan/engine.ts";
import type { ThreadsEvent } from "../threads/scan-threads.ts";

const never = new AbortController().signal;

async function withRules(
  use: (engine: Engine, folder: string, events: ThreadsEvent[]) => Promise<void>,
  first = 'rule Blue { strings: $a = "blue" condition: $a }',
): Promise<void> {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "colours.yar"), first);
  const events: ThreadsEvent[] = [];
  const onEvent = (event: ThreadsEvent): void => void events.push(event);
  const engine = await rulesEngine({ rulesDir: folder.path, threads: 1, watchEveryMs: 20, onEvent });
  try {
    await use(engine, folder.path, events);
  } finally {
    await engine.close();
  }
}

test("a rule of one's own is looked for beside the built-in ones, and its name is the finding", async () => {
  await withRules(async (engine) => {
    assert.equal(await verdictOf(engine, Buffer.from("something blue")), "infected Blue");
    assert.equal(await verdictOf(engine, eicar()), "infected EICAR_Test_File");
    const { checks } = await engine.health(never);
    assert.match(checks[0]?.detail ?? "", /built-in rules and 1 of your own/);
  });
});

test("a new rule file is used without a restart, and a removed one no more", async () => {
  await withRules(async (engine, folder, events) => {
    writeFileSync(join(folder, "more.yara"), 'rule Red { strings: $a = "red" condition: $a }');
    await until("the rules are loaded", () => events.length === 1);
    assert.equal(events[0]?.kind, "rules_loaded");
    assert.equal(await verdictOf(engine, Buffer.from("something red")), "infected Red");
    assert.equal(await verdictOf(engine, Buffer.from("something blue")), "infected Blue");
    rmSync(join(folder, "colours.yar"));
    await until("the rules are loaded again", () => events.length === 2);
    assert.equal(await verdictOf(engine, Buffer.from("something blue")), "clean");
  });
});

test("a rule that is written while the engine starts is used, and so is one that keeps its time and length", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "colours.yar");
  const rule = (word: string): string => `rule Colour { strings: $a = "${word}" condition: $a }`;
  writeFileSync(path, rule("blue"));
  const starting = rulesEngine({ rulesDir: folder.path, threads: 1, watchEveryMs: 20 });
  const write = (word: string): void => {
    writeFileSync(path, rule(word));
    utimesSync(path, 1000, 1000);
  };
  write("pink");
  const engine = await starting;
  try {
    const finds = async (word: string): Promise<boolean> =>
      (await verdictOf(engine, Buffer.from(`something ${word}`))) === "infected Colour";
    await until("the first change is seen", () => finds("pink"));
    write("gold");
    await until("the second change is seen", () => finds("gold"));
  } finally {
    await engine.close();
  }
});

test("a rule that does not compile keeps the old ones in use, is reported, and can be put right", async () => {
  await withRules(async (engine, folder, events) => {
    writeFileSync(join(folder, "more.yar"), "rule Broken { condition: nonsense }");
    await until("the change is noticed", () => events.length === 1);
    assert.deepEqual(events[0]?.kind, "rules_refused");
    const { ready, checks } = await engine.health(never);
    assert.equal(ready, true);
    assert.equal(checks[0]?.ok, false);
    assert.match(checks[0]?.detail ?? "", /changed rules refused, still using .* more\.yar: /s);
    assert.equal(await verdictOf(engine, Buffer.from("something blue")), "infected Blue");

    writeFileSync(join(folder, "more.yar"), 'rule Mended { strings: $a = "mended" condition: $a }');
    await until("the rules are loaded", () => events.at(-1)?.kind === "rules_loaded");
    assert.equal((await engine.health(never)).checks[0]?.ok, true);
    assert.equal(await verdictOf(engine, Buffer.from("something mended")), "infected Mended");
  });
});

test("the engine does not start with rules that do not compile, and says which", async () => {
  await assert.rejects(
    withRules(async () => {}, "rule Broken {"),
    /cannot compile the rules: colours\.yar: /,
  );
});

test("the engine does not start without the folder it was told of", async () => {
  await assert.rejects(rulesEngine({ rulesDir: "/nonexistent/rules" }), /cannot read the rules folder/);
});

test("a rule that asks for more than strings is right about each of many small files", async () => {
  const rule = 'rule Short { strings: $a = "blue" condition: $a and filesize < 8 and not uint8(0) == 0x78 }';
  await withRules(async (engine) => {
    const contents = ["blue", "xblue", "blue and long", "red"].flatMap((text) => Array<string>(10).fill(text));
    const words = await Promise.all(contents.map((text) => verdictOf(engine, Buffer.from(text))));
    assert.deepEqual(
      words,
      contents.map((text) => (text === "blue" ? "infected Short" : "clean")),
    );
  }, rule);
});
