import assert from "node:assert/strict";
import { test } from "node:test";
import "../../test/support/leftovers.ts";
import { document, routes, type Serving } from "./routes.ts";

const version = "1.2.3";
const everything: Serving = { role: "all", scans: true, folders: true, console: true, admin: true };

/** The paths of such a process, without their other names. */
function pathsOf(serving: Partial<Serving>): string[] {
  const { paths } = document({ ...everything, ...serving }, { version }) as { paths: Record<string, object> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.values(operations).some((operation) => "x-alias-of" in operation) ? [] : path,
  );
}

test("a worker answers health checks only, and a function neither scans at once nor serves objects", () => {
  const service = ["/version", "/api/v1/test", "/healthz", "/livez", "/readyz", "/metrics", "/metrics/tenants"];
  assert.deepEqual(pathsOf({ role: "worker" }), service);
  assert.deepEqual(pathsOf({ role: "api" }), pathsOf({}));
  const more = pathsOf({}).filter((path) => !pathsOf({ scans: false, folders: false }).includes(path));
  assert.deepEqual(more, [
    "/api/v1/scan/sync/download",
    "/api/v1/scan/sync/binary",
    "/api/v1/scan/sync/form",
    "/api/v1/scan/sync/objstore",
    "/objects/",
  ]);
});

test("no process starts without an answer to each of its routes", () => {
  assert.throws(
    () => routes(everything, {}, { version }),
    /^Error: nothing answers POST \/api\/v1\/scan\/async\/download$/,
  );
});
