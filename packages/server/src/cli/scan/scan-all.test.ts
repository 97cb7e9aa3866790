import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandFailed, exitCodes } from "../exit-codes.ts";
import { type ScanItem, type Scanned, type Scanner, scanAll } from "./scan-all.ts";

const never = new AbortController().signal;

async function* files(count: number): AsyncGenerator<ScanItem> {
  for (let each = 0; each < count; each++) yield { kind: "stdin", name: String(each) };
}

interface Ran {
  results: [string, string][];
  started: string[];
  most: number;
}

/** Scans so many files, three at once, with a scanner that answers when told to. */
async function run(scan: Scanner["scan"], items: AsyncGenerator<ScanItem>, signal: AbortSignal): Promise<Ran> {
  const ran: Ran = { results: [], started: [], most: 0 };
  let underWay = 0;
  const scanner = {
    async scan(...args: Parameters<Scanner["scan"]>): Promise<Scanned> {
      underWay += 1;
      ran.most = Math.max(ran.most, underWay);
      try {
        return await scan(...args);
      } finally {
        underWay -= 1;
      }
    },
  };
  const onResult = (item: ScanItem, { status }: Scanned): unknown => ran.results.push([item.name, status]);
  const onStart = (item: ScanItem): unknown => ran.started.push(item.name);
  await scanAll(items, { scanner, atOnce: 3, onStart, onBytes() {}, onResult }, signal);
  return ran;
}

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("everything is scanned, so many at once", async () => {
  const scan: Scanner["scan"] = async () => {
    await later();
    return { status: "clean" };
  };
  const { results, most } = await run(scan, files(10), never);
  assert.equal(results.length, 10);
  assert.equal(most, 3);
});

test("what cannot be looked at is no, without a scan", async () => {
  async function* unreadable(): AsyncGenerator<ScanItem> {
    yield { kind: "unreadable", name: "x", reason: "EACCES" };
  }
  const { results, started } = await run(async () => ({ status: "clean" }), unreadable(), never);
  assert.deepEqual([results, started], [[["x", "no"]], []]);
});

test("a scan that fails for good ends the others, and is thrown", async () => {
  const ended: string[] = [];
  const scan: Scanner["scan"] = async (item, _, signal) => {
    if (item.name === "1") throw new CommandFailed(exitCodes.unreachable, "no server", { hint: "" });
    if (item.name === "0") return { status: "clean" };
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    ended.push(item.name);
    throw signal.reason;
  };
  await assert.rejects(run(scan, files(100), never), /no server/);
  assert.ok(ended.length <= 2);
});

test("when it is stopped nothing new is begun, and nothing is thrown", async () => {
  const stop = new AbortController();
  const scan: Scanner["scan"] = async (item, _, signal) => {
    if (item.name === "4") stop.abort();
    signal.throwIfAborted();
    return { status: "clean" };
  };
  const { started } = await run(scan, files(100), stop.signal);
  assert.ok(started.length < 10, `${started.length} begun`);
});
