import assert from "node:assert/strict";
import { test } from "node:test";
import { byteCount, moment } from "../flag-values.ts";
import { inBytes, inTime } from "./output.ts";
import { count, exitCodeOf, newTally, progress, progressLine, summary } from "./progress.ts";

test("the progress line has a bar, numbers, rate and remaining time", () => {
  const tally = { files: 30, bytes: 3 * 1024 * 1024, infected: 2, notScanned: 0, totalFiles: 120 };
  assert.equal(
    progressLine(tally, 10),
    "[######..................] 30/120  3.0 files/s 307.2 KB/s  ETA 30s  2 infected",
  );
  assert.equal(
    progressLine({ files: 5, bytes: 0, infected: 0, notScanned: 1 }, 0),
    "5 files  0.0 files/s 0 B/s  0 infected 1 not scanned",
  );
});

test("nothing is drawn on what is no terminal; on one, lines go above the bar", () => {
  const tally = { files: 1, bytes: 1, infected: 0, notScanned: 0 };
  let drawn = "";
  const write = (text: string): boolean => {
    drawn += text;
    return true;
  };
  const out: string[] = [];
  const plain = progress({ terminal: { write, isTTY: false, columns: 80 }, out: (text) => out.push(text) });
  plain.draw(tally);
  plain.line("a line");
  plain.end();
  assert.deepEqual([drawn, out], ["", ["a line\n"]]);
  let now = 0;
  const bar = progress({ terminal: { write, isTTY: true, columns: 24 }, out: (text) => write(text), now: () => now });
  bar.draw(tally);
  now = 1000;
  bar.line("a line");
  bar.draw(tally);
  bar.end();
  assert.equal(
    drawn,
    "1 files  0.0 files/s 0 \r\x1b[2Ka line\n1 files  0.0 files/s 0 \r\x1b[2K1 files  1.0 files/s 1 \r\x1b[2K",
  );
});

test("sizes and times are read and written as people do", () => {
  assert.deepEqual(["4096", "1kb", "1.5MiB", "2G"].map(byteCount), [4096, 1024, 1_572_864, 2_147_483_648]);
  assert.throws(() => byteCount("ten"), /It must be a size/);
  assert.deepEqual(
    ["90s", "2h", "1w"].map((text) => moment(text, 1e12)),
    [1e12 - 90_000, 1e12 - 7_200_000, 1e12 - 604_800_000],
  );
  assert.equal(moment("2026-11-01"), Date.UTC(2026, 10, 1));
  for (const wrong of ["soon", "7", "2026-99-99", "2026-02-31"])
    assert.throws(() => moment(wrong), /It must be like 7d/);
  assert.deepEqual([0, 1023, 1536, 5 * 1024 ** 3].map(inBytes), ["0 B", "1023 B", "1.5 KB", "5.0 GB"]);
  assert.deepEqual([0, 59.4, 61, 3725].map(inTime), ["0s", "59s", "1m 1s", "1h 2m"]);
});

function tallyOf(...statuses: ("clean" | "infected" | "no")[]): ReturnType<typeof newTally> {
  const tally = newTally();
  for (const status of statuses) count(tally, status, 1024);
  return tally;
}

test("only a whole pass with nothing but clean files is a success", () => {
  assert.equal(exitCodeOf(tallyOf("clean", "clean"), true), 0);
  assert.equal(exitCodeOf(tallyOf("clean", "clean"), false), 2);
  assert.equal(exitCodeOf(tallyOf("clean", "no"), true), 2);
  assert.equal(exitCodeOf(tallyOf("no", "infected"), true), 1);
  assert.equal(exitCodeOf(tallyOf("infected"), false), 1);
});

test("the summary counts all of them", () => {
  assert.equal(
    summary(tallyOf("clean", "no", "infected"), { seconds: 61, interrupted: true }),
    "interrupted: 3 scanned (3.0 KB): 1 clean, 1 infected, 1 not scanned, 1m 1s\n",
  );
});
