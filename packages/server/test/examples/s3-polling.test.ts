import assert from "node:assert/strict";
import { before, test } from "node:test";
import { eicar } from "../support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type S3Server, s3Server } from "../support/s3-server/s3-server.ts";
import { useCredentials } from "../support/s3-server/s3-store.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { alone, examplesFolder, type StartedServer, startServer } from "./start-server.ts";

const folder = temporaryFolder();
let s3: S3Server;
let service: TestService;
let example: StartedServer;
before(async () => {
  s3 = await s3Server();
  s3.bucket("uploads", "enabled");
  useCredentials(s3.credentials);
  process.env.AWS_REGION = s3.region;
  service = await testService({ engine: "P", clamd: "none", concurrency: 2, s3Endpoint: s3.endpoint });
  example = await start("uploads");
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => s3?.[Symbol.asyncDispose]());
atTheEnd(() => service?.[Symbol.asyncDispose]());
atTheEnd(() => example?.[Symbol.asyncDispose]());

function start(bucket: string): Promise<StartedServer> {
  const env = { LAZARET_URL: service.url, LAZARET_API_KEY: testKey, AWS_ENDPOINT_URL_S3: s3.endpoint, BUCKET: bucket };
  return startServer(new URL("s3-polling/server.ts", examplesFolder), { cwd: folder.path, env });
}

interface Reply {
  status: number;
  answer: Record<string, string>;
}

async function call(method: string, path: string, origin = example.origin): Promise<Reply> {
  const response = await fetch(`${origin}${path}`, { method, headers: alone });
  return { status: response.status, answer: (await response.json()) as Reply["answer"] };
}

async function put(link: string, bytes: Buffer | string): Promise<void> {
  assert.equal((await fetch(link, { method: "PUT", body: bytes, headers: alone })).status, 200);
}

async function read(link = ""): Promise<string> {
  return (await fetch(link, { headers: alone })).text();
}

/** Polls as a browser would, until there is something else than patience to be told. */
async function outcome(path: string): Promise<Reply> {
  let reply: Reply | undefined;
  const settled = async (): Promise<boolean> => {
    reply = await call("GET", path);
    return reply.status !== 202;
  };
  await until(`the upload is scanned; it said ${example.said()}`, settled, { limitMs: 60_000 });
  return reply ?? assert.fail();
}

async function queued(bytes: Buffer | string): Promise<{ poll: string; link: string; id: string }> {
  const { answer: made } = await call("POST", "/uploads");
  const { id = "", put: link = "" } = made;
  await put(link, bytes);
  const { status, answer } = await call("POST", `/uploads/${id}`);
  assert.equal(status, 202, JSON.stringify(answer));
  return { poll: answer.poll ?? "", link, id };
}

test("a clean upload gets a link that leads to its bytes", async () => {
  const { poll } = await queued("a clean file");
  const { status, answer } = await outcome(poll);
  assert.equal(status, 200, JSON.stringify(answer));
  assert.equal(await read(answer.url), "a clean file");
});

test("an infected upload is refused with its finding, and gets no link", async () => {
  const { poll } = await queued(eicar());
  const refused = { refused: "infected", finding: "EICAR_Test_File" };
  assert.deepEqual(await outcome(poll), { status: 422, answer: refused });
});

test("what is put there after the scan is never what the link leads to", async () => {
  const { poll, link, id } = await queued("a clean file");
  assert.equal((await outcome(poll)).status, 200);
  await put(link, eicar());
  const { answer } = await outcome(poll);
  assert.equal(await read(answer.url), "a clean file");
  const version = s3.bucket("uploads").find(id, undefined).id;
  assert.deepEqual(await call("GET", `/uploads/${id}/${version}`), { status: 202, answer: { waiting: true } });
});

test("nothing can be queued that was not put there, or that was not made here", async () => {
  s3.bucket("uploads").put("other.txt", Buffer.from("somebody else's"));
  const { answer } = await call("POST", "/uploads");
  assert.equal((await call("POST", `/uploads/${answer.id}`)).status, 404);
  assert.equal((await call("POST", "/uploads/other.txt")).status, 404);
  assert.equal((await call("GET", "/uploads/other.txt/1")).status, 404);
});

test("a bucket without versions is no place for uploads that must not change", async () => {
  s3.bucket("unversioned", "never");
  await using another = await start("unversioned");
  const { answer } = await call("POST", "/uploads", another.origin);
  await put(answer.put ?? "", "a clean file");
  assert.equal((await call("POST", `/uploads/${answer.id}`, another.origin)).status, 500);
  await until("it says why", () => another.said().includes("keeps no versions"), { limitMs: 60_000 });
});

test("without Lazaret there is no link", async () => {
  const env = { LAZARET_URL: service.url, LAZARET_API_KEY: "wrong", AWS_ENDPOINT_URL_S3: s3.endpoint };
  const program = new URL("s3-polling/server.ts", examplesFolder);
  await using refused = await startServer(program, { cwd: folder.path, env });
  const { poll } = await queued("a clean file");
  assert.equal((await outcome(poll)).status, 200);
  assert.deepEqual(await call("GET", poll, refused.origin), {
    status: 503,
    answer: { error: "please try again later" },
  });
});
