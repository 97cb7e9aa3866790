import assert from "node:assert/strict";
import { before, test } from "node:test";
import { syncDownloadSchema } from "@lazaret/contract";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { checkBody } from "../../src/receive/body/json-body.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";

let clamd: TestClamd;
let service: TestService;
before(async () => {
  clamd = await testClamd();
  service = await testService({ clamd: `unix:${clamd.socketPath}`, signCallbackInvocations: true });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

interface OpenApi {
  openapi: string;
  paths: Record<
    string,
    Record<string, { operationId: string; deprecated?: boolean; "x-alias-of"?: string; responses: object }>
  >;
  components: { schemas: Record<string, object> };
}
const document = async (): Promise<OpenApi> => (await fetch(`${service.url}/openapi.json`)).json() as Promise<OpenApi>;

test("the OpenAPI document is 3.1 and names every endpoint of the spec that is here, under /api/v1", async () => {
  const { openapi, paths } = await document();
  assert.equal(openapi, "3.1.0");
  for (const path of ["sync/download", "sync/binary", "sync/form"]) {
    assert.equal(paths[`/api/v1/scan/${path}`]?.post?.deprecated, true, path);
  }
  assert.ok(paths["/api/v1/test"]?.get);
  const ids = Object.values(paths).flatMap((operations) => Object.values(operations).map((each) => each.operationId));
  assert.equal(new Set(ids).size, ids.length);
});

test("every path and method of the document is answered by the server, and by no other method", async () => {
  const { paths } = await document();
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of ["get", "post"]) {
      const { status } = await service.call(path, { method: method.toUpperCase() });
      assert.equal(status !== 405 && status !== 404, method in operations, `${method} ${path} → ${status}`);
    }
  }
});

test("a request body is accepted by the document's schema exactly when the server's own check accepts it", async () => {
  const { components } = await document();
  const ajv = new Ajv2020({ strict: false, formats: { uri: true } });
  const validate = ajv.compile(components.schemas.SyncDownloadRequest ?? {});
  const field = fc.oneof(
    fc.string(),
    fc.string({ minLength: 2040, maxLength: 2056 }),
    fc.jsonValue(),
    fc.constant("💾".repeat(2048)),
  );
  const headers = fc.oneof(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.nat())), fc.jsonValue());
  const body = fc.record(
    { download_url: field, download_headers: headers, other: fc.jsonValue() },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(body, (candidate) => {
      let accepted = true;
      try {
        checkBody(candidate, syncDownloadSchema);
      } catch {
        accepted = false;
      }
      assert.equal(accepted, validate(candidate));
    }),
    { numRuns: 500 },
  );
});

test("real answers match the schemas of the document", async () => {
  const { components } = await document();
  const ajv = new Ajv2020({ strict: false });
  const result = ajv.compile({ ...components.schemas.ScanResult, additionalProperties: false });
  const error = ajv.compile({ ...components.schemas.Error, additionalProperties: false });
  assert.ok(result(await (await service.scan("x")).json()));
  assert.ok(error(await (await fetch(`${service.url}/api/v1/test`)).json()));
});

test("the document says which paths are other names, and of which", async () => {
  const { paths } = await document();
  const aliases = Object.entries(paths).flatMap(([path, operations]) =>
    Object.values(operations).map((each) => [path, each["x-alias-of"]]),
  );
  const others = aliases.filter(([, aliasOf]) => aliasOf !== undefined);
  assert.equal(others.length, 12);
  for (const [path = "", aliasOf = ""] of others) {
    assert.equal(path.replace(/^\/v1\//, "/api/v1/").replace(/\/s3$/, "/objstore"), aliasOf);
    assert.ok(aliasOf in paths, aliasOf);
  }
});
