// Receives the callbacks of queued scans, believes only those that Lazaret has signed, and keeps what they say.
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createCallbackVerifier, isClean, nodeReceiver, type VerifiedCallback } from "@lazaret/client";
import express from "express";

const RESULTS = "data/results";
await mkdir(RESULTS, { recursive: true });
const app = express();
const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
await once(server, "listening");

// The signature is over the callback_url as jobs are submitted with it. Behind a proxy that is its address, not ours.
const publicUrl = process.env.PUBLIC_URL ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const callbackUrl = `${publicUrl}/scanned`;
const lazaretUrl = process.env.LAZARET_URL ?? "http://127.0.0.1:8040";
const verifier = createCallbackVerifier({ keyUrl: `${lazaretUrl}/.well-known/lazaret/callback-key.pem`, callbackUrl });

/** Answered 204 when this is through. If it throws the answer is 500, and Lazaret comes again. */
async function settle({ result }: VerifiedCallback): Promise<void> {
  const { trace_id: traceId = "", status } = result;
  // Only clean is clean: "infected" is refused, and so is "no", a file that could not be scanned.
  const decided = isClean(result)
    ? { decision: "keep", status }
    : { decision: "refuse", status, finding: result.finding };
  // The same callback may come twice: the same is written again. Moved into place, a result is never half there.
  const draft = `${RESULTS}/${randomUUID()}`;
  await writeFile(draft, JSON.stringify(decided));
  await rename(draft, pathOf(traceId));
  console.log(JSON.stringify(traceId), decided);
}

/** Trace ids come from outside: none of them may lead to another folder. */
function pathOf(traceId: string): string {
  return `${RESULTS}/${createHash("sha256").update(traceId).digest("hex")}.json`;
}

// Before any body parser: the signature is over the bytes as they came.
app.post(
  "/scanned",
  nodeReceiver(verifier, settle, {
    onRefused: ({ reason, message }) => console.error("refused a request:", reason, message),
    onError: (error) => console.error("not taken, it will come again:", error),
  }),
);

app.get("/results/:traceId", async (request, response) => {
  const result = await readFile(pathOf(request.params.traceId), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (result === undefined) response.status(404).json({ error: "no result yet" });
  else response.type("json").send(result);
});
console.log(`waiting for callbacks at ${callbackUrl}`);
