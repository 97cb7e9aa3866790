import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Access } from "../access/access-store.ts";
import type { AuditEntry } from "../access/audit-log.ts";
import { log } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import { startTenantsFile } from "./tenants-file.ts";

test("an audit log that takes no writes keeps nobody from starting, and hears of the file later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lazaret-tenants-"));
  const path = join(folder, "tenants.json");
  writeFileSync(path, JSON.stringify({ tenants: { shop: {} } }));
  const lines: string[] = [];
  const written: AuditEntry[] = [];
  const taken: Access[] = [];
  let away = true;
  const heard = Promise.withResolvers<void>();
  try {
    using _file = await startTenantsFile(path, {
      audit: {
        async add(entry) {
          if (away) throw new QueueUnavailable("the disk is full");
          written.push(entry);
          heard.resolve();
        },
        list: async () => undefined,
      },
      log: log({ level: "info", format: "json", write: (line) => void lines.push(String(line)) }),
      now: () => 1,
      onChange: (access) => void taken.push(access),
    });
    assert.deepEqual(
      taken.map(({ tenants }) => tenants.map(({ name }) => name)),
      [["shop"]],
    );
    assert.match(lines.join(""), /"event":"audit".*the disk is full/);
    assert.equal(written.length, 0);
    away = false;
    await heard.promise;
    assert.deepEqual(
      written.map(({ what, on, details }) => [what, on, details?.tenants]),
      [["tenants-file.read", path, 1]],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
