import assert from "node:assert/strict";
import { test } from "node:test";
import type { EngineCheck } from "../scan/engine.ts";
import { signatureChecks } from "./signature-age.ts";

const DAY_SECONDS = 86_400;
const clamd = { name: "clamd", ok: true, detail: "ClamAV 1.4.6 at unix:/s, signatures 27815, 1.0 days old" };
const warn = { signaturesMaxAge: 7, signaturesOld: "warn" } as const;
const unready = { signaturesMaxAge: 7, signaturesOld: "unready" } as const;

test("old signatures, and those whose age nobody knows, warn, or are not ready where the settings say so", () => {
  const words = "signatures of unknown age (no official database loaded)";
  const cases: [string, EngineCheck, ("ok" | "not ok")[], ("ok" | "not ok")[]][] = [
    ["young", { ...clamd, signatureAgeSeconds: 7 * DAY_SECONDS }, [], []],
    ["old", { ...clamd, signatureAgeSeconds: 7 * DAY_SECONDS + 1 }, ["ok"], ["not ok"]],
    ["of unknown age", { ...clamd, detail: `ClamAV 1.4.6 at unix:/s, ${words}` }, ["ok"], ["not ok"]],
    ["of a clamd that is not in use", { ...clamd, detail: "NOT IN USE: this engine knows test files" }, [], []],
    ["of a clamd that does not answer", { ...clamd, ok: false, detail: "cannot reach clamd" }, [], []],
    ["rules", { name: "rules", ok: true, detail: "34 rules" }, [], []],
  ];
  for (const [name, check, byWarn, byUnready] of cases) {
    const said = (policy: typeof warn | typeof unready): string[] =>
      signatureChecks([check], policy).map(({ ok }) => (ok ? "ok" : "not ok"));
    assert.deepEqual([said(warn), said(unready)], [byWarn, byUnready], name);
  }
});

test("the words say how old they are, and how old they may be", () => {
  const [said] = signatureChecks([{ ...clamd, signatureAgeSeconds: 9.25 * DAY_SECONDS }], warn);
  assert.equal(said?.detail, "signatures are 9.3 days old, more than 7: new malware is not found; run freshclam");
});
