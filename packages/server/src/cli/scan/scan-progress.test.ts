import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { newTally } from "../terminal/progress.ts";
import type { ScanItem } from "./scan-all.ts";
import { fileLine, scanProgress } from "./scan-progress.ts";

test("a file's line has a bar, the share, the rate and the remaining time", () => {
  const file = { name: "big\x1b.iso", totalBytes: 4096, bytes: 1024, startedAt: 0 };
  assert.equal(fileLine(file, 2000), "[####............]  25%  512 B/s  ETA 6s  big\\u001b.iso");
  assert.equal(fileLine({ ...file, bytes: 4096 }, 4000), "[################] 100%  1.0 KB/s  scanning  big\\u001b.iso");
  assert.equal(fileLine({ ...file, bytes: 0 }, 0), "[................]   0%  0 B/s  ETA …  big\\u001b.iso");
  assert.equal(fileLine({ ...file, name: "-", totalBytes: undefined }, 1000), "1.0 KB  1.0 KB/s  -");
});

test("several files are shown above the line for all, and are taken away at the end", () => {
  let drawn = "";
  let time = 0;
  const write = (text: string): boolean => {
    drawn += text;
    return true;
  };
  const terminal = { write, isTTY: true, columns: 100, rows: 7 };
  const tally = { ...newTally(), totalFiles: 5, totalBytes: 50 };
  const bars = scanProgress({ terminal, tally, now: () => time });
  const items = ["a", "b", "c", "d", "e"].map((name): ScanItem => ({ kind: "file", name, path: name, sizeBytes: 10 }));
  for (const item of items) {
    time += 100;
    bars.start(item);
  }
  for (const item of items) bars.read(item, 5);
  time += 100;
  drawn = "";
  bars.end({ kind: "stdin", name: "another" });
  const lines = stripVTControlCharacters(drawn).split("\n");
  assert.deepEqual(
    lines.map((line) => line.split(" ").at(-1)),
    ["a", "b", "c", "more", "infected"],
  );
  assert.equal(lines[3], "… and 2 more");
  assert.equal(lines[4], "[........................] 0/5  0.0 files/s 42 B/s  ETA 1s  0 infected");
  drawn = "";
  bars.above(() => write("a line\n"));
  assert.ok(drawn.startsWith(`\r\x1b[2K${"\x1b[1A\x1b[2K".repeat(4)}a line\n`));
  drawn = "";
  bars[Symbol.dispose]();
  assert.equal(drawn, `\r\x1b[2K${"\x1b[1A\x1b[2K".repeat(4)}`);
});

test("nothing is drawn on what is no terminal", () => {
  const write = (): boolean => assert.fail("something was drawn");
  const bars = scanProgress({ terminal: { write, isTTY: false, columns: 80 }, tally: newTally() });
  const item: ScanItem = { kind: "stdin", name: "-" };
  bars.start(item);
  bars.end(item);
  bars[Symbol.dispose]();
});
