import assert from "node:assert/strict";
import { test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { warc } from "./warc.ts";

const payload = Buffer.from("what a server once sent\n".repeat(5));

function record(type: string, content: Buffer): Buffer {
  const header = `WARC/1.0\r\nWARC-Type: ${type}\r\nWARC-Target-URI: http://a.example/x\r\nContent-Length: ${content.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(header), content, Buffer.from("\r\n\r\n")]);
}

const contents = async (...records: Buffer[]): Promise<string[]> =>
  ((await openContainer(warc, Buffer.concat(records)))?.members ?? []).map(({ content }) => content.toString());

test("the contents of all records come out", async () => {
  assert.deepEqual(await contents(record("warcinfo", Buffer.from("software: x")), record("resource", payload)), [
    "software: x",
    payload.toString(),
  ]);
});

test("an answer of a server comes out without its header, and put together", async () => {
  const plain = Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"), payload]);
  assert.ok((await contents(record("response", plain))).includes(payload.toString()));
  const chunks = [payload.subarray(0, 20), payload.subarray(20)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  );
  const chunked = Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join("")}0\r\n\r\n`);
  assert.ok((await contents(record("response", chunked))).includes(payload.toString()));
});

test("a record that is cut off is not clean", async () => {
  const file = record("resource", payload);
  assert.equal((await openContainer(warc, file.subarray(0, -4)))?.outcome, "opened");
  assert.equal((await openContainer(warc, file.subarray(0, -5)))?.outcome, "unreadable");
});

test("what is no record is left over", async () => {
  const file = Buffer.concat([record("resource", payload), Buffer.from("something else behind it")]);
  const opened = await openContainer(warc, file);
  assert.ok(opened?.rest.some(({ start, end }) => file.subarray(start, end).includes("something else")));
  assert.equal(await openContainer(warc, Buffer.from("WARC is a format")), undefined);
});
