import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { before, test } from "node:test";
import { stored, zip } from "../fixtures/zip-writer.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
before(async () => {
  clamd = await testClamd();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());

const other = "the-key-of-another";

interface Upload extends Disposable {
  socket: Socket;
  readonly answer: string;
}

/** An upload whose bytes are sent by hand. */
function upload(port: number, announced: number): Upload {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let answer = "";
  socket.on("error", () => {});
  socket.setEncoding("latin1").on("data", (part: string) => {
    answer += part;
  });
  socket.write(
    "POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n" +
      `Authorization: Bearer ${testKey}\r\nContent-Length: ${announced}\r\n\r\n`,
  );
  return {
    socket,
    get answer() {
      return answer;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

test("twice as many uploads as there are slots trickle in, and another key's scans are answered all the while", async () => {
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, apiKeys: [testKey, other] });
  const scan = (): Promise<Response> =>
    service.call("/api/v1/scan/sync/binary", {
      method: "POST",
      headers: { Authorization: `Bearer ${other}`, "Content-Type": "application/octet-stream" },
      body: "hello",
      signal: AbortSignal.timeout(20_000),
    });
  const slow = Array.from({ length: 8 }, () => upload(service.port, 5));
  for (const each of "hell") {
    for (const { socket } of slow) socket.write(each);
    assert.deepEqual(await (await scan()).json(), { status: "clean", size: 5 });
  }
  for (const { socket } of slow) socket.write("o");
  await until("they are scanned as well", () => slow.every(({ answer }) => answer.includes('"status":"clean"')));
  for (const each of slow) each[Symbol.dispose]();
});

test("a large upload that comes slowly is scanned to its last byte when it is here, and holds no slot before", async () => {
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, concurrency: 1 });
  const file = zip([stored("filler", Buffer.alloc(300_000, "not much to see here. ")), stored("last", eicar())]);
  using slow = upload(service.port, file.length);
  const begun = performance.now();
  slow.socket.write(file.subarray(0, 10));
  await until("that is slow by any measure", () => performance.now() - begun > 500);
  slow.socket.write(file.subarray(10, -10));
  for (let scans = 0; scans < 5; scans += 1) assert.equal((await service.scan("hello")).status, 200);
  slow.socket.write(file.subarray(-10));
  await until("it is answered", () => slow.answer.includes("}"));
  assert.match(slow.answer, new RegExp(`"status":"infected","finding":"[^"]+","size":${file.length}`));
});

test("a download that hangs holds no slot of the synchronous API", async () => {
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, concurrency: 1 });
  await using files = await fileServer({ "/hang": (_, response) => response.writeHead(200).write("x") });
  const hanging = new AbortController();
  const download = service.call("/api/v1/scan/sync/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}/hang` }),
    signal: hanging.signal,
  });
  download.catch(() => {});
  await until("it hangs", () => files.asked.includes("/hang"));
  assert.equal((await service.scan("hello")).status, 200);
  hanging.abort();
  await assert.rejects(download);
});
