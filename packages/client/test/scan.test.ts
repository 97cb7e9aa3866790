import assert from "node:assert/strict";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  BadRequestError,
  type FileInput,
  isClean,
  isEncrypted,
  isOverLimits,
  isTooBig,
  Lazaret,
  type LazaretError,
  type Progress,
  TooBigError,
  UnauthorizedError,
  UnreadableFileError,
} from "@lazaret/client";
import { readReply } from "../../server/src/engines/clamd/reply.ts";
import { encrypted, stored, zip } from "../../server/test/fixtures/zip-writer.ts";
import { testClamd } from "../../server/test/support/clamd.ts";
import { eicar } from "../../server/test/support/eicar.ts";
import { type FileServer, fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../../server/test/support/leftovers.ts";
import { httpServer } from "../../server/test/support/loopback-server.ts";
import { rawHttp } from "../../server/test/support/raw-http.ts";
import { type TestService, testKey, testService } from "../../server/test/support/service.ts";
import { until } from "../../server/test/support/until.ts";

let service: TestService;
let files: FileServer;
let lazaret: Lazaret;
const folder = temporaryFolder();
before(async () => {
  service = await testService({ engine: "P", clamd: "none", concurrency: 2 });
  files = await fileServer();
  lazaret = new Lazaret({ baseUrl: service.url, apiKey: testKey });
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => files[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const infected = { status: "infected", finding: "EICAR_Test_File", size: 68, realfiletype: "ASCII text" };

function pathTo(name: string, content: Uint8Array | string): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
}

test("a file may be a path, a Blob, bytes, a web stream, a Node stream, any iterable, or a function that answers one", async () => {
  const path = pathTo("eicar.txt", eicar());
  const bytes = new Uint8Array(eicar());
  const inputs: Record<string, FileInput> = {
    path,
    "file URL": pathToFileURL(path),
    Blob: new Blob([bytes]),
    Buffer: eicar(),
    Uint8Array: bytes,
    ArrayBuffer: bytes.buffer,
    "web stream": new Blob([bytes]).stream(),
    "Node stream": createReadStream(path),
    "Node stream of small pieces": Readable.from(Array.from(bytes, (byte) => Uint8Array.of(byte))),
    iterable: (async function* () {
      yield bytes.subarray(0, 30);
      yield new Uint8Array(0);
      yield bytes.subarray(30);
    })(),
    "function with a stream": () => createReadStream(path),
    "function with a promise": async () => bytes,
  };
  for (const [name, file] of Object.entries(inputs)) assert.deepEqual(await lazaret.scan({ file }), infected, name);
});

test("a clean file is clean, also an empty one, however it comes", async () => {
  const empty = pathTo("empty", "");
  for (const file of [empty, new Blob([]), new Uint8Array(0), Readable.from([])]) {
    const result = await lazaret.scan({ file });
    assert.deepEqual(result, { status: "clean", size: 0, realfiletype: "empty" });
    assert.ok(isClean(result));
  }
});

test("files that say they are empty before they are read are scanned whole", { concurrency: false }, async () => {
  const path = "/proc/self/status";
  const { size } = await lazaret.scan({ file: path });
  assert.ok((size ?? 0) > 100 && readFileSync(path).length > 100);
});

test("a form gives the same results, whatever the file is called", async () => {
  const path = pathTo("eicar.com", eicar());
  for (const filename of [undefined, "report.pdf", 'a "quoted"\r\nname.txt', "Grüße.txt"]) {
    assert.deepEqual(await lazaret.sync.form(path, { filename }), infected);
  }
  const stream = Readable.from([eicar()]);
  assert.deepEqual(await lazaret.sync.form(stream, { size: 68 }), infected);
});

test("progress is told piece by piece, up to the whole size", async () => {
  const path = pathTo("large", Buffer.alloc(1_000_000, "a"));
  const told: Progress[] = [];
  const result = await lazaret.scan({ file: path }, { onProgress: (progress) => told.push(progress) });
  assert.equal(result.size, 1_000_000);
  assert.ok(told.length > 10, `${told.length} pieces`);
  assert.deepEqual(told.at(-1), { sentBytes: 1_000_000, totalBytes: 1_000_000 });
  assert.ok(told.every((each, index) => each.sentBytes > (told[index - 1]?.sentBytes ?? 0)));

  const ofStream: Progress[] = [];
  await lazaret.scan({ file: createReadStream(path) }, { onProgress: (progress) => ofStream.push(progress) });
  assert.deepEqual(ofStream.at(-1), { sentBytes: 1_000_000, totalBytes: undefined });
});

test("a URL is downloaded by the server, with the headers that were given", async () => {
  await using guarded = await fileServer({
    "/guarded": (request, response) => response.end(request.headers["x-token"] === "t" ? eicar() : "no token"),
  });
  assert.deepEqual(await lazaret.scan({ url: `${files.origin}/clean` }), {
    status: "clean",
    size: 10,
    realfiletype: "ASCII text",
  });
  assert.deepEqual(
    await lazaret.scan({ url: new URL(`${guarded.origin}/guarded`), headers: { "x-token": "t" } }),
    infected,
  );
  const missing = await lazaret.scan({ url: `${files.origin}/missing` });
  assert.deepEqual(missing, { status: "no", finding: "scanner:download-failed" });
  assert.equal(isClean(missing), false);
});

test("a wrong key is an UnauthorizedError, with the server's hint and the id of the request, and without the key", async () => {
  const wrong = new Lazaret({ baseUrl: service.url, apiKey: "not-the-right-key" });
  await wrong.checkKey().then(
    () => assert.fail("the key was taken"),
    (error: unknown) => {
      assert.ok(error instanceof UnauthorizedError);
      assert.equal(error.name, "UnauthorizedError");
      assert.equal(error.status, 401);
      assert.equal(error.code, "invalid_api_key");
      assert.match(error.message, /GET \/api\/v1\/test at http:.*: 401, .* \(hint: .*LAZARET_API_KEYS.*\)$/);
      assert.match(error.requestId ?? "", /./);
      assert.doesNotMatch(error.message, /not-the-right-key/);
    },
  );
  await lazaret.checkKey();
});

test("a request that is wrong is a BadRequestError with the server's code", async () => {
  await assert.rejects(lazaret.scan({ url: "not a URL" }), (error) => {
    assert.ok(error instanceof BadRequestError);
    assert.equal(error.code, "invalid_download_url");
    return true;
  });
});

test("a file that is too big is a TooBigError before it is sent, when its size is known", async () => {
  let read = 0;
  const endless = new ReadableStream<Uint8Array>({
    // One piece, and then nothing for ever.
    pull: (controller) => (read++ === 0 ? controller.enqueue(new Uint8Array(10)) : new Promise(() => {})),
  });
  await assert.rejects(lazaret.scan({ file: endless }, { size: 201 * 1024 * 1024 }), (error) => {
    assert.ok(error instanceof TooBigError);
    assert.equal(error.code, "scanner:too-big");
    return true;
  });
});

test("a file that cannot be read is an UnreadableFileError that says why", async () => {
  const broken = (async function* () {
    yield Buffer.from("the first half");
    throw new Error("the disk is gone");
  })();
  const unreadable: [FileInput, RegExp][] = [
    [join(folder.path, "not there"), /ENOENT/],
    [folder.path, /it is a folder/],
    [broken, /cannot read the file to its end: the disk is gone/],
    [Readable.from(["text"]), /gave a string instead of bytes/],
    [createReadStream(pathTo("text", "text"), "utf8"), /gave a string instead of bytes/],
    [() => Promise.reject(new Error("no such upload")), /no such upload/],
    [undefined as unknown as FileInput, /a file is a path, a Blob, bytes/],
  ];
  for (const [file, message] of unreadable) {
    await assert.rejects(lazaret.scan({ file }), (error) => {
      assert.ok(error instanceof UnreadableFileError, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
});

test("a stream that fails before anybody reads it fails the call, not the process", async () => {
  const file = createReadStream(join(folder.path, "not there"));
  const late = new Lazaret({
    baseUrl: service.url,
    apiKey: testKey,
    async fetch(...args) {
      await until("the stream has failed", () => file.closed);
      return fetch(...args);
    },
  });
  await assert.rejects(late.scan({ file }), /cannot read the file to its end: ENOENT/);
});

test("a file that is shorter or longer than its size is an error, never a result of a part of it", async () => {
  for (const size of [67, 69]) {
    await assert.rejects(lazaret.scan({ file: Readable.from([eicar()]) }, { size }), UnreadableFileError);
  }
});

test("an upload can be passed on as it comes, and answered also when the scan was refused in its midst", async () => {
  const wrong = new Lazaret({ baseUrl: service.url, apiKey: "not-the-right-key" });
  await using server = await httpServer(async (request, response) => {
    const client = request.url === "/refused" ? wrong : lazaret;
    const { status } = await client.scan({ file: request }).catch((error: LazaretError) => error);
    response.end(`seen: ${status}`);
  });
  const url = `http://127.0.0.1:${server.port}`;
  const taken = await fetch(url, { method: "POST", body: new Uint8Array(eicar()) });
  assert.equal(await taken.text(), "seen: infected");

  const head = "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nthe first bytes";
  const { body } = await rawHttp(server.port, [head], { keep: true, limitMs: 60_000 });
  assert.equal(body, "seen: 401");
});

test("nothing to scan is a TypeError", async () => {
  await assert.rejects(lazaret.scan({} as { url: string }), /pass \{ file \}, \{ url \} or \{ bucket, key \}/);
});

test("what a file was not scanned for can be asked, whichever engine has said it", async () => {
  await using clamd = await testClamd();
  await using q = await testService({ engine: "Q", clamd: `unix:${clamd.socketPath}`, concurrency: 2 });
  const locked = zip([encrypted("a.txt", Buffer.from("secret"), "password")]);
  let deep = zip([stored("a.txt", Buffer.from("deep"))]);
  for (let level = 0; level < 60; level += 1) deep = zip([stored(`${level}.zip`, deep)]);
  for (const client of [lazaret, new Lazaret({ baseUrl: q.url, apiKey: testKey })]) {
    const [protectedFile, nested] = [await client.scan({ file: locked }), await client.scan({ file: deep })];
    assert.deepEqual(
      [isEncrypted(protectedFile), isOverLimits(protectedFile), isTooBig(protectedFile)],
      [true, false, false],
    );
    assert.deepEqual([isEncrypted(nested), isOverLimits(nested), isTooBig(nested)], [false, true, false]);
  }
});

test("every name by which clamd says that it did not look is an answer to one of the questions", () => {
  const names = [
    "Encrypted.Zip",
    "Encrypted.7Zip",
    "Encrypted.RAR",
    "Encrypted.PDF",
    "Encrypted.EGG",
    "Limits.Exceeded.MaxFiles",
  ];
  for (const name of [...names, "Limits.Exceeded.MaxScanTime", "Limits.Exceeded.EmailHeaders"]) {
    const reply = readReply(`1: stream: Heuristics.${name} FOUND`, 1);
    assert.ok(reply.kind === "verdict" && reply.verdict.kind === "unscannable", name);
    const result = { status: "no", finding: reply.verdict.finding } as const;
    assert.deepEqual([isEncrypted(result), isOverLimits(result)], [name.startsWith("E"), name.startsWith("L")], name);
  }
});
