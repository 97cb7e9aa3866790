import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// Opens stdin, as every import of it does, in packages too: so it is no leftover of theirs.
import "node:process";
import { after } from "node:test";
import { until } from "./until.ts";

/**
 * Imported by every test file that starts something: its last act is to check that no server, socket, child process
 * or temporary folder is left behind.
 */
/** Numbers of processes come again, and one that was killed may have left a folder behind. */
const PREFIX = `lazaret-test-${process.pid}-${randomUUID().slice(0, 8)}-`;
const before = tally();
const children = new Set<number>();
const stops: (() => unknown)[] = [];

/** A folder that the test removes itself; `await using` does it. */
export function temporaryFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), PREFIX));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A child process that must be gone at the end. */
export function watchChild(pid: number): void {
  children.add(pid);
}

/** Stops what the whole file shares, at its end and before the check. The last started is stopped first. */
export function atTheEnd(stop: () => unknown): void {
  stops.push(stop);
}

after(async () => {
  for (const stop of stops.reverse()) await stop();
  await until("every server, socket and child process is closed", () => left().length === 0, { limitMs: 5000 }).catch(
    () => assert.deepEqual(left(), [], "left behind"),
  );
});

function left(): string[] {
  const now = tally();
  const resources = [...now].filter(([name, count]) => count > (before.get(name) ?? 0)).map(([name]) => name);
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX));
  return [...resources, ...folders, ...[...children].filter(alive).map((pid) => `process ${pid}`)];
}

/** Timers are not counted: those that matter keep a socket or a process with them. */
function tally(): Map<string, number> {
  const names = process.getActiveResourcesInfo().filter((name) => !["Timeout", "Immediate"].includes(name));
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
