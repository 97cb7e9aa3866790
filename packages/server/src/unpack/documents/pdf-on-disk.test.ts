import assert from "node:assert/strict";
import { test } from "node:test";
import { FULL_LIMITS } from "../../engines/threads/scan-limits.ts";
import { type Blob, memoryBlob } from "../blob.ts";
import { unpackBudget } from "../budget.ts";
import type { Tools } from "../opener.ts";
import { pdf } from "./pdf.ts";

/** How often each byte of a document is read, if every read costs what it costs on disk. */
async function readsPerByte(text: string): Promise<number> {
  const content = memoryBlob(Buffer.from(text, "latin1"));
  let read = 0;
  const counted: Blob = {
    ...content,
    inMemory: false,
    bytes(position, length) {
      const bytes = content.bytes(position, length);
      read += bytes.length;
      return bytes;
    },
  };
  const budget = unpackBudget(FULL_LIMITS, content.size, () => false);
  const sink = { folder() {}, begin() {}, write() {}, end() {} };
  await pdf.open(counted, { sink, budget } as unknown as Tools);
  return read / content.size;
}

const streams: Record<string, string> = {
  "with an object": "7 0 obj << /Length 4 >> stream\nabcd\nendstream endobj\n",
  "that has none, as all the others": `stream\n${" ".repeat(100)}`,
  "without one": "<< /Length 4 >> stream\nabcd\nendstream\n",
};
for (const [name, stream] of Object.entries(streams)) {
  test(`where a stream ends is found without reading the rest of the document for each: ${name}`, async () => {
    assert.ok((await readsPerByte(`%PDF-1.4\n${stream.repeat(20_000)}`)) < 20);
  });
}
