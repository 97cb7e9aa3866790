// Uses the packed package as a program of somebody else would, in whatever runtime this is. Prints what it saw as JSON.
import { Readable } from "node:stream";
import { createCallbackVerifier, isClean, Lazaret, UnauthorizedError } from "@lazaret/client";

const { path, vector } = JSON.parse(process.env.CASE);
const lazaret = new Lazaret();
const sent = [];
const onProgress = ({ sentBytes }) => sent.push(sentBytes);

const seen = {
  fromPath: await lazaret.scan({ file: path }, { onProgress }),
  fromBytes: await lazaret.scan({ file: new TextEncoder().encode("text") }),
  fromBlob: await lazaret.scan({ file: new Blob(["text"]) }),
  fromWebStream: await lazaret.scan({ file: new Blob(["text"]).stream() }),
  fromNodeStream: await lazaret.scan({ file: Readable.from([new TextEncoder().encode("text")]) }),
  fromForm: await lazaret.sync.form(new Blob(["text"]), { filename: "a.txt" }),
  sent: sent.at(-1),
};
seen.allClean = Object.values(seen).filter((each) => each?.status !== undefined && isClean(each)).length;

const { traceId } = await lazaret.async.download({ url: process.env.FILE_URL });
seen.job = await lazaret.waitForResult(traceId);

const wrong = new Lazaret({ apiKey: "not-the-right-key" });
seen.wrongKey = await wrong.checkKey().catch((error) => [error instanceof UnauthorizedError, error.code]);

const { publicPemPkcs1, timestamp, url, body, signature } = vector;
const verifier = createCallbackVerifier({ publicKey: publicPemPkcs1, callbackUrl: url, now: () => Number(timestamp) });
const headers = { "X-Timestamp": timestamp, "X-Signature": signature };
seen.callback = (await verifier.verify(new Request(url, { method: "POST", body, headers }))).result.status;
seen.forged = await verifier.verifyRaw({ body: `${body} `, headers }).catch((error) => error.reason);

process.stdout.write(JSON.stringify(seen));
