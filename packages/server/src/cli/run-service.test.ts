import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

interface Optimized {
  calls: number;
  byMaglev: boolean;
}

/** After how many calls V8 has optimized a function in full, in a process with these flags, and whether it had been compiled by Maglev before. */
function optimized(flags: readonly string[], before: string): Optimized {
  const script = `
    const { optimizeForRequests } = await import(${JSON.stringify(new URL("./run-service.ts", import.meta.url))});
    ${before};
    const MAGLEV = 1 << 5, TURBOFAN = 1 << 6;
    let sum = 0;
    const add = (each) => { sum += each; };
    let calls = 0, seen = 0;
    while (calls < 50_000 && !(seen & TURBOFAN)) { add(calls++); seen |= %GetOptimizationStatus(add); }
    console.log(JSON.stringify({ calls, byMaglev: (seen & MAGLEV) !== 0 }));`;
  // Compiled at once and not aside, so that it is the same number of calls each time.
  const given = ["--allow-natives-syntax", "--no-concurrent-recompilation", ...flags];
  return JSON.parse(
    execFileSync(process.execPath, [...given, "--input-type=module", "--eval", script], { encoding: "utf8" }),
  );
}

test("a service has V8 optimize soon what each request runs, by one compiler", () => {
  const before = optimized(["--maglev"], "");
  assert.ok(before.calls > 5000, `${before.calls}`);
  assert.ok(before.byMaglev);
  const since = optimized([], "optimizeForRequests()");
  assert.ok(since.calls < 1500, `${since.calls}`);
  assert.ok(!since.byMaglev);
});

test("flags of V8 that somebody gives the service are left as they are", () => {
  const given = optimized(["--maglev", "--invocation-count-for-turbofan=5000"], "optimizeForRequests()");
  assert.ok(given.calls > 4000, `${given.calls}`);
  assert.ok(given.byMaglev);
});
