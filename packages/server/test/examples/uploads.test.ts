import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { Agent, type ClientRequest, type IncomingMessage, type RequestListener, request as sending } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { encrypted, zip } from "../fixtures/zip-writer.ts";
import { eicar } from "../support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { httpServer } from "../support/loopback-server.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { alone, examplesFolder, type StartedServer, startServer } from "./start-server.ts";

const programs: Record<string, URL> = {
  "examples/express": new URL("express/server.ts", examplesFolder),
  "examples/fastify": new URL("fastify/server.ts", examplesFolder),
  "examples/nextjs": new URL("./serve-route.ts", import.meta.url),
};
const MIB = 1024 * 1024;
const patience = { limitMs: 60_000 };

let service: TestService;
before(async () => {
  service = await testService({ engine: "P", clamd: "none", concurrency: 2 });
});
atTheEnd(() => service[Symbol.asyncDispose]());

/** What is in the folders of an example. */
function folders(path: string): { quarantine: string[]; uploads: string[] } {
  const names = (name: string): string[] => {
    const folder = join(path, "data", name);
    return existsSync(folder) ? readdirSync(folder).map((each) => join(folder, each)) : [];
  };
  return { quarantine: names("quarantine"), uploads: names("uploads") };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

async function upload(
  origin: string,
  body: Buffer | string,
  type = "application/octet-stream",
): Promise<{ status: number; answer: Record<string, unknown> }> {
  const response = await fetch(`${origin}/upload`, {
    method: "POST",
    body,
    headers: { "Content-Type": type, ...alone },
  });
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
}

/** A request whose body is sent as the test likes. */
function slowUpload(
  origin: string,
  headers: Record<string, string>,
): { sent: ClientRequest; answered: Promise<Reply> } {
  // Kept open: a server that closes the connection before all is read may cut off its own answer.
  const agent = new Agent({ keepAlive: true });
  const sent = sending(`${origin}/upload`, { method: "POST", headers, agent });
  const answered = new Promise<Reply>((resolve, reject) => {
    sent.once("error", reject);
    sent.once("response", (response: IncomingMessage) => {
      json(response).then(
        (answer) => resolve({ status: response.statusCode, answer: answer as Reply["answer"] }),
        reject,
      );
    });
  });
  // Whether it matters is for the test to say.
  answered.catch(() => {});
  return { sent, answered };
}

interface Reply {
  status: number | undefined;
  answer: Record<string, unknown>;
}

for (const [name, program] of Object.entries(programs)) {
  describe(name, () => {
    const folder = temporaryFolder();
    let example: StartedServer;
    before(async () => {
      const env = { LAZARET_URL: service.url, LAZARET_API_KEY: testKey };
      example = await startServer(program, { cwd: folder.path, env });
    });
    after(async () => {
      await example?.[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    });

    async function nothingIsLeft(keptBefore: readonly string[]): Promise<void> {
      // The answer goes out before the file is removed.
      await until("the quarantine is empty", () => folders(folder.path).quarantine.length === 0, patience);
      assert.deepEqual(folders(folder.path).uploads, keptBefore);
    }

    test("a clean file is kept, byte for byte", async () => {
      const files: [Buffer, string][] = [
        [Buffer.alloc(3 * MIB, "every byte counts: \0\x01\x7f\xff\r\n", "latin1"), "application/octet-stream"],
        [Buffer.from('{"a": 1}'), "application/json"],
        [Buffer.alloc(0), "text/plain"],
      ];
      for (const [bytes, type] of files) {
        const { status, answer } = await upload(example.origin, bytes, type);
        assert.equal(status, 201, `${type}: ${JSON.stringify(answer)}, ${example.said()}`);
        const kept = join(folder.path, "data/uploads", String(answer.id));
        assert.ok(readFileSync(kept).equals(bytes), `${type} was changed`);
      }
      await nothingIsLeft(folders(folder.path).uploads);
    });

    test("an infected file is refused with its finding, and not kept", async () => {
      const { uploads } = folders(folder.path);
      const { status, answer } = await upload(example.origin, eicar());
      assert.deepEqual(
        { status, answer },
        { status: 422, answer: { refused: "infected", finding: "EICAR_Test_File" } },
      );
      await nothingIsLeft(uploads);
    });

    test("a file that cannot be scanned is refused just the same", async () => {
      const { uploads } = folders(folder.path);
      const { status, answer } = await upload(example.origin, zip([encrypted("x", Buffer.from("secret"), "password")]));
      assert.deepEqual({ status, answer }, { status: 422, answer: { refused: "no", finding: "scanner:encrypted" } });
      await nothingIsLeft(uploads);
    });

    test("a file is written as it comes, and only kept when all of it was scanned", async () => {
      const bytes = Buffer.alloc(2 * MIB, "a file that comes in two halves\n");
      const { sent, answered } = slowUpload(example.origin, { "Content-Length": String(bytes.length) });
      sent.write(bytes.subarray(0, MIB));
      const written = (): boolean => folders(folder.path).quarantine.some((path) => sizeOf(path) >= MIB);
      await until("the first half is on the disk", written, patience);
      sent.end(bytes.subarray(MIB));
      const { status, answer } = await answered;
      assert.equal(status, 201, JSON.stringify(answer));
      assert.ok(readFileSync(join(folder.path, "data/uploads", String(answer.id))).equals(bytes));
    });

    test("nothing is left of a file whose sender goes away in the midst of it", async () => {
      await nothingIsLeft(folders(folder.path).uploads);
      const { uploads } = folders(folder.path);
      const { sent } = slowUpload(example.origin, { "Content-Length": String(MIB) });
      sent.write("a beginning");
      await until("it has begun", () => folders(folder.path).quarantine.length === 1, patience);
      sent.destroy();
      await nothingIsLeft(uploads);
    });

    test("files that are too large, or do not tell their size, are refused unread", async () => {
      const { uploads } = folders(folder.path);
      const large = slowUpload(example.origin, { "Content-Length": String(200 * MIB + 1) });
      large.sent.flushHeaders();
      assert.equal((await large.answered).status, 413);
      large.sent.destroy();
      const endless = slowUpload(example.origin, { "Transfer-Encoding": "chunked" });
      endless.sent.write("a beginning");
      assert.equal((await endless.answered).status, 413);
      endless.sent.destroy();
      await nothingIsLeft(uploads);
    });
  });

  test(`${name}: what Lazaret did not clearly call clean is not kept`, async () => {
    using folder = temporaryFolder();
    const answers: [status: number, body: string][] = [
      [401, '{"code":"invalid_api_key","message":"a wrong key"}'],
      [200, '{"status":"ok"}'],
      [200, '{"status":"clean","size":1}'],
      [200, "<html>welcome</html>"],
      [504, ""],
    ];
    let [status, body] = answers[0] ?? assert.fail();
    const lazaret: RequestListener = (request, response) => {
      request.resume().once("end", () => response.writeHead(status).end(body));
    };
    await using server = await httpServer(lazaret);
    const env = { LAZARET_URL: `http://127.0.0.1:${server.port}`, LAZARET_API_KEY: testKey };
    await using example = await startServer(program, { cwd: folder.path, env });
    for ([status, body] of answers) {
      const reply = await upload(example.origin, "a file");
      assert.equal(reply.status, 503, `${body}: ${example.said()}`);
      assert.deepEqual(reply.answer, { error: "the file was not taken, please try again later" });
      await until("the quarantine is empty", () => folders(folder.path).quarantine.length === 0, patience);
      assert.deepEqual(folders(folder.path).uploads, []);
    }
    assert.doesNotMatch(example.said(), new RegExp(testKey));
  });
}
