// The plainest job scanner with a queue: Express and BullMQ in one process, npm clamscan, and fetch for the rest.
// Usage: node bullmq-peer.mjs <redis socket> <clamd socket> <jobs at once, 0 takes jobs in only>
import { Readable } from "node:stream";
import { Queue, Worker } from "bullmq";
import NodeClam from "clamscan";
import express from "express";
import { Redis } from "ioredis";

const [redisPath, clamdPath, jobsAtOnce] = process.argv.slice(2);
const queue = new Queue("scan", { connection: new Redis(redisPath) });
const keep = { removeOnComplete: true, attempts: 4, backoff: { type: "exponential", delay: 5000 } };

const app = express();
app.post("/scan/async/download", express.json({ limit: "256kb" }), async (request, response) => {
  if (request.headers.authorization !== "Bearer a-key-for-the-bench") return response.status(401).end();
  const problem = problemOf(request.body ?? {});
  if (problem) return response.status(400).json({ message: problem });
  const { download_url, download_headers, callback_url, callback_headers, custom_data } = request.body;
  await queue.add("scan", { download_url, download_headers, callback_url, callback_headers, custom_data }, keep);
  return response.status(204).end();
});

if (jobsAtOnce !== "0") {
  const clam = await new NodeClam().init({
    clamdscan: { socket: clamdPath, host: false, port: false, localFallback: false },
  });
  const worker = new Worker("scan", (job) => scan(job.data, clam), {
    connection: new Redis(redisPath, { maxRetriesPerRequest: null }),
    concurrency: Number(jobsAtOnce),
  });
  worker.on("failed", (job, error) => console.error(`job ${job?.id} failed: ${error.message}`));
}

const server = app.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`listening ${address?.port}`);
});

async function scan({ download_url, download_headers, callback_url, callback_headers, custom_data }, clam) {
  const started = performance.now();
  const file = await fetch(download_url, { headers: download_headers });
  if (!file.ok) throw new Error(`the download was answered with ${file.status}`);
  const bytes = Buffer.from(await file.arrayBuffer());
  const downloaded = performance.now();
  const { isInfected, viruses } = await clam.scanStream(Readable.from([bytes]));
  const body = JSON.stringify({
    download_url,
    status: isInfected ? "infected" : "clean",
    finding: viruses[0],
    size: bytes.length,
    download_time: ((downloaded - started) / 1000).toFixed(3),
    scan_time: ((performance.now() - downloaded) / 1000).toFixed(3),
    custom_data,
  });
  const answer = await fetch(callback_url, {
    method: "POST",
    headers: { ...callback_headers, "Content-Type": "application/json" },
    body,
  });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`the callback was answered with ${answer.status}`);
}

function problemOf({ download_url, download_headers, callback_url, callback_headers, custom_data }) {
  if (!isUrl(download_url)) return "download_url is not a URL";
  if (!isUrl(callback_url)) return "callback_url is not a URL";
  if (!isHeaders(download_headers)) return "download_headers is not a map of strings";
  if (!isHeaders(callback_headers)) return "callback_headers is not a map of strings";
  if (custom_data === undefined) return undefined;
  if (typeof custom_data !== "string" || Buffer.byteLength(custom_data) > 16 * 1024) return "custom_data is too large";
  return undefined;
}

function isUrl(value) {
  return typeof value === "string" && /^https?:$/.test(URL.parse(value)?.protocol ?? "");
}

function isHeaders(value) {
  if (value === undefined) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((each) => typeof each === "string");
}
