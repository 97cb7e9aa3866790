// The least that a service can do: node:http, and what nobody can leave out. No keys, no checks, no limits, no log, no
// order among clients; but the flags of V8 that Lazaret has. What it reaches is the ceiling of what a service on node:http can reach on this machine.
//
//   floor.ts scan                                reads a body and answers
//   floor.ts search <clamd>                      searches it for members as well, and has clamd scan it
//   floor.ts submit <folder>                     keeps a job: one append, and one fdatasync for all that came meanwhile
//   floor.ts database <folder>                   keeps it in the database that Lazaret has
//   floor.ts jobs <folder> <clamd> <at once> [sign]   runs it, too: download, scan, callback, and a second append
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { fdatasync, mkdirSync, openSync, write } from "node:fs";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { optimizeForRequests } from "../packages/server/src/cli/run-service.ts";
import { parseClamdAddress } from "../packages/server/src/engines/clamd/address.ts";
import { type Clamd, clamd } from "../packages/server/src/engines/clamd/clamd.ts";
import { giveBack } from "../packages/server/src/flow/passing-buffers.ts";
import { rooms } from "../packages/server/src/flow/rooms.ts";
import { wholeBytes } from "../packages/server/src/flow/whole-bytes.ts";
import { newJob, nobodysAccount } from "../packages/server/src/model/job.ts";
import { type JobStore, openJobStore } from "../packages/server/src/platforms/embedded/job-store.ts";
import { memoryBlob } from "../packages/server/src/unpack/blob.ts";
import { mayHoldMembers } from "../packages/server/src/unpack/sieve.ts";

interface FloorJob {
  download_url: string;
  callback_url: string;
  custom_data: string;
}

const CLEAN = JSON.stringify({ status: "clean", size: 4096, scan_time: "0.001", request_id: "0".repeat(36) });

const [mode = "", place = "", clamdAddress = "", atOnce = "16", signed] = process.argv.slice(2);
const folder = place;
const never = new AbortController().signal;
const used = rooms({ keptBytes: 8 * 1024 * 1024 });
const answer = { scan, search: searching(), submit: submitting(), database: inDatabase(), jobs: running() }[mode];
if (!answer)
  throw new Error(
    "usage: floor.ts scan | search <clamd> | submit <folder> | database <folder> | jobs <folder> <clamd> <at once> [sign]",
  );
const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (question, response) => {
  void answer(question).then((text) => {
    response.writeHead(text === undefined ? 204 : 200, {
      "Content-Type": "application/json",
      ...(text !== undefined && { "Content-Length": text.length }),
    });
    response.end(text);
  });
});
server.listen(0, "127.0.0.1", () => {
  optimizeForRequests();
  console.log(`listening ${(server.address() as AddressInfo).port}`);
});

function scan(question: IncomingMessage): Promise<string> {
  return new Promise((resolve) => question.on("data", () => {}).once("end", () => resolve(CLEAN)));
}

function searching(): (question: IncomingMessage) => Promise<string> {
  let engine: Clamd | undefined;
  return async (question) => {
    engine ??= engineAt(place);
    const content = await received(question);
    if (mayHoldMembers(memoryBlob(content))) throw new Error("the file of the bench has members");
    const verdict = await engine.scan(wholeBytes(content), never);
    if (verdict.kind !== "clean") throw new Error("the file of the bench is not clean");
    used.giveBack(content);
    return CLEAN;
  };
}

/** In one piece: as it came, or in memory of the size that was announced. */
function received(question: IncomingMessage): Promise<Uint8Array> {
  const announced = Number(question.headers["content-length"]);
  let content: Uint8Array | undefined;
  let size = 0;
  return new Promise((resolve) => {
    question.on("data", (chunk: Buffer) => {
      if (chunk.length === announced) content = chunk;
      else {
        content ??= used.take(announced);
        content.set(chunk, size);
        size += chunk.length;
        giveBack(chunk);
      }
    });
    question.once("end", () => resolve(content?.subarray(0, announced) ?? new Uint8Array()));
  });
}

function engineAt(text: string): Clamd {
  const address = parseClamdAddress(text);
  if (!address) throw new Error(`${text} is no address of clamd`);
  return clamd({ address, concurrency: 64 });
}

function submitting(): (question: IncomingMessage) => Promise<undefined> {
  let append: ((line: Buffer) => Promise<void>) | undefined;
  return async (question) => {
    append ??= appendTo(join(folder, "submits"));
    await append(await buffer(question));
    return undefined;
  };
}

function inDatabase(): (question: IncomingMessage) => Promise<undefined> {
  let opening: Promise<JobStore> | undefined;
  return async (question) => {
    const body = await buffer(question);
    opening ??= openJobStore(folder);
    const { queue } = await opening;
    const { download_url, callback_url, custom_data } = JSON.parse(body.toString()) as FloorJob;
    const job = {
      source: { kind: "url", url: download_url, headers: {} },
      callback: { url: callback_url, headers: {} },
      customData: custom_data,
      ...nobodysAccount,
    } as const;
    await queue.add(newJob(job, { id: randomUUID(), submittedAt: Date.now() }));
    return undefined;
  };
}

function running(): (question: IncomingMessage) => Promise<undefined> {
  let tools: { append: (line: Buffer) => Promise<void>; run: (job: FloorJob) => Promise<void> } | undefined;
  const waiting: FloorJob[] = [];
  let busy = 0;
  async function work(): Promise<void> {
    busy += 1;
    for (let job = waiting.shift(); job && tools; job = waiting.shift()) {
      await tools.run(job);
      await tools.append(Buffer.from("done\n"));
    }
    busy -= 1;
  }
  return async (question) => {
    tools ??= { append: appendTo(join(folder, "jobs")), run: jobRunner() };
    const body = await buffer(question);
    await tools.append(body);
    waiting.push(JSON.parse(body.toString()) as FloorJob);
    if (busy < Number(atOnce)) void work();
    return undefined;
  };
}

/** Answers when what was appended is on disk. */
function appendTo(path: string): (line: Buffer) => Promise<void> {
  mkdirSync(folder, { recursive: true });
  const file = openSync(path, "a");
  let gathered: { line: Buffer; resolve(): void }[] = [];
  let syncing = false;
  function next(): void {
    const batch = gathered;
    gathered = [];
    syncing = batch.length > 0;
    if (!syncing) return;
    write(file, Buffer.concat(batch.map(({ line }) => line)), (writeError) => {
      if (writeError) throw writeError;
      fdatasync(file, (syncError) => {
        if (syncError) throw syncError;
        for (const { resolve } of batch) resolve();
        next();
      });
    });
  }
  return (line) =>
    new Promise((resolve) => {
      gathered.push({ line, resolve });
      if (!syncing) next();
    });
}

function jobRunner(): (job: FloorJob) => Promise<void> {
  const engine = engineAt(clamdAddress);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const key = signed === "sign" ? generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey : undefined;
  const signInPool = promisify<string, Uint8Array, KeyObject, Buffer>(sign);

  const exchange = (url: string, body?: Buffer, headers: Record<string, string> = {}): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const asked = request(url, { agent, method: body ? "POST" : "GET", headers }, (response) => {
        buffer(response).then(resolve, reject);
      });
      asked.on("error", reject).end(body);
    });

  return async ({ download_url, callback_url, custom_data }) => {
    const file = await exchange(download_url);
    const verdict = await engine.scan(whole(file), never);
    const body = Buffer.from(JSON.stringify({ download_url, status: verdict.kind, size: file.length, custom_data }));
    const stamp = String(Date.now());
    const signature = key && (await signInPool("sha256", Buffer.from(`${stamp}.${callback_url}.${body}`), key));
    await exchange(callback_url, body, {
      "Content-Type": "application/json",
      ...(signature && { "X-Timestamp": stamp, "X-Signature": signature.toString("hex") }),
    });
  };
}

async function* whole(file: Uint8Array): AsyncGenerator<Uint8Array> {
  yield file;
}
