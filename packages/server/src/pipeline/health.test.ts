import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, log } from "../log.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { logSignatureAge } from "./health.ts";

test("the age of the official signatures is logged, and that there are none", async () => {
  const logged = async (checks: EngineCheck[]): Promise<LogFields[]> => {
    const policy = { signaturesMaxAge: 7, signaturesOld: "warn" } as const;
    const lines: LogFields[] = [];
    const say = log({ level: "info", format: "json", now: () => 0, write: (line) => lines.push(JSON.parse(line)) });
    const health = Promise.resolve({ ready: true, checks });
    using _ = logSignatureAge({ health: () => health } as unknown as Engine, say, policy);
    await health;
    await new Promise(setImmediate);
    return lines;
  };
  const clamd = { name: "clamd", ok: true, detail: "" };
  assert.deepEqual(await logged([clamd]), []);
  const unofficial = await logged([{ ...clamd, detail: "signatures of unknown age (no official database loaded)" }]);
  assert.deepEqual(
    unofficial.map(({ level, event, official }) => [level, event, official]),
    [["error", "signatures", false]],
  );
  const line = { time: "1970-01-01T00:00:00.000Z", level: "info", event: "signatures", age_seconds: 86_400 };
  assert.deepEqual(await logged([{ ...clamd, signatureAgeSeconds: 86_400.4 }]), [line]);
  const old = await logged([{ ...clamd, signatureAgeSeconds: 8 * 86_400 }]);
  assert.deepEqual(
    old.map(({ level, age_seconds, detail }) => [
      level,
      age_seconds,
      /8\.0 days old, more than 7/.test(String(detail)),
    ]),
    [["error", 691_200, true]],
  );
});
