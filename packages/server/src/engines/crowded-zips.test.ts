import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { tar } from "../../test/fixtures/tar-writer.ts";
import { deflated, type Member, stored, zip } from "../../test/fixtures/zip-writer.ts";
import { testClamd } from "../../test/support/clamd.ts";
import { atTheEnd, temporaryFolder } from "../../test/support/leftovers.ts";
import { startEngine, type VariantParts } from "./variants.ts";

const eicar = readFileSync(new URL("../../signatures/lazaret-test.ndb", import.meta.url));
const marker = Buffer.from("a member of a zip that a signature asks for");
const clamd = await testClamd(
  {},
  {
    signatures: {
      "eicar.ndb": eicar,
      "container.ldb": `Test.InZip;Engine:81-255,Container:CL_TYPE_ZIP,Target:0;0;${marker.toString("hex")}\n`,
      "container.cdb": "Test.Name:CL_TYPE_ZIP:*:(?i)invoice\\.js:*:*:*:*:*:*\n",
    },
  },
);
atTheEnd(() => clamd[Symbol.asyncDispose]());
const folder = temporaryFolder();
atTheEnd(() => folder[Symbol.dispose]());
const address = { kind: "unix", path: clamd.socketPath } as const;

const small = Array.from({ length: 5000 }, (_, index) => deflated(`${index}`, Buffer.from(`content ${index}`)));
const empty = Array.from({ length: 5000 }, (_, index) => stored(`${index}`, Buffer.alloc(0)));
const named = stored("Invoice.js", Buffer.from("nothing of note"));
const files: Record<string, { file: () => Buffer; finding: string | undefined }> = {
  "a member behind 5,000 others": { file: () => zip([...small, deflated("a", marker)]), finding: "Test.InZip" },
  "a member before 5,000 others": { file: () => zip([deflated("a", marker), ...small]), finding: "Test.InZip" },
  "a member behind 5,000 empty ones": { file: () => zip([...empty, deflated("a", marker)]), finding: "Test.InZip" },
  "a member of such a zip in a tar.gz": {
    file: () => gzipSync(tar([{ name: "a.zip", content: zip([...small, deflated("a", marker)]) }])),
    finding: "Test.InZip",
  },
  "a name among 5,000": { file: () => zip([...small, named]), finding: "Test.Name" },
  "a name of what stood there before": {
    file: () => zip([...small, { ...named, name: "readme" } as Member, named]),
    finding: "Test.Name",
  },
  "nothing among 5,000": { file: () => zip(small), finding: undefined },
  "the same outside of a zip": {
    file: () =>
      tar([
        ...small.map(({ name }) => ({ name, content: Buffer.from(`content ${name}`) })),
        { name: "a", content: marker },
      ]),
    finding: undefined,
  },
};

const unpacking = { temporaryFolder: folder.path };
const variants: Record<string, { parts: VariantParts; only?: string }> = {
  Q: { parts: { variant: "Q", clamd: address, concurrency: 2, unpacking } },
  P: {
    parts: { variant: "P", clamd: address, concurrency: 2, rules: unpacking },
    only: "a member behind 5,000 others",
  },
};

for (const [variant, { parts, only }] of Object.entries(variants)) {
  describe(`signatures that ask for a zip around a member, in archives of more than 4,000, with ${variant}`, async () => {
    const engine = await startEngine(parts);
    atTheEnd(() => engine.close());
    for (const [name, { file, finding }] of Object.entries(files)) {
      if (only !== undefined && name !== only) continue;
      test(name, async () => {
        async function* bytes(): AsyncGenerator<Uint8Array> {
          yield file();
        }
        const verdict = await engine.scan(bytes(), AbortSignal.timeout(120_000));
        assert.equal(verdict.kind === "clean" ? undefined : verdict.finding.replace(".UNOFFICIAL", ""), finding);
      });
    }
  });
}
