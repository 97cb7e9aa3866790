// Uploads that go straight to S3: the sender gets a link to put the file to, and polls until it is known to be clean.
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { GetObjectCommand, HeadObjectCommand, NotFound, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { isClean, Lazaret, LazaretError } from "@lazaret/client";
import express, { type ErrorRequestHandler } from "express";

const Bucket = process.env.BUCKET ?? "uploads"; // with versioning: see below
const lazaret = new Lazaret(); // from LAZARET_URL and LAZARET_API_KEY
const s3 = new S3Client({
  forcePathStyle: process.env.AWS_ENDPOINT_URL_S3 !== undefined, // MinIO and others
  requestChecksumCalculation: "WHEN_REQUIRED", // or a link would demand the checksum of an empty file
});
const app = express();

// Only names that were made here: no other object of the bucket can be asked for.
app.param("id", (_request, response, next, id) => {
  if (/^[0-9a-f-]{36}$/.test(id)) next();
  else response.status(404).json({ error: "no such upload" });
});

// 1. A link that takes one file for five minutes.
app.post("/uploads", async (_request, response) => {
  const id = randomUUID();
  const put = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: id }), { expiresIn: 300 });
  response.status(201).json({ id, put });
});

// 2. The sender has put it there: it is queued for scanning.
app.post("/uploads/:id", async ({ params: { id } }, response) => {
  const { VersionId: version } = await s3.send(new HeadObjectCommand({ Bucket, Key: id }));
  // The link above is still good, so that the object may change after the scan. A version never does.
  if (!version) throw new Error(`the bucket ${Bucket} keeps no versions: turn versioning on`);
  await lazaret.async.object({ bucket: Bucket, key: id, version, traceId: `${id}.${version}` });
  response.status(202).json({ poll: `/uploads/${id}/${encodeURIComponent(version)}` });
});

// 3. The sender polls. A link to read the file is given for a clean version only, and for no other.
app.get("/uploads/:id/:version", async ({ params: { id, version } }, response) => {
  const result = await lazaret.async.result(`${id}.${version}`);
  if (!result) {
    response.status(202).json({ waiting: true }); // also for what was never queued, or longer than 24 hours ago
  } else if (isClean(result)) {
    const object = new GetObjectCommand({ Bucket, Key: id, VersionId: version });
    response.json({ url: await getSignedUrl(s3, object, { expiresIn: 300 }) });
  } else {
    // "infected", or "no": it could not be scanned. Neither gets a link.
    response.status(422).json({ refused: result.status, finding: result.finding });
  }
});

/** Whatever goes wrong, nobody gets a link; the sender may try again. */
const onError: ErrorRequestHandler = (error, _request, response, _next) => {
  if (error instanceof NotFound) {
    response.status(404).json({ error: "nothing was put there yet" });
    return;
  }
  console.error(error instanceof LazaretError ? error.message : error);
  response.status(error instanceof LazaretError ? 503 : 500).json({ error: "please try again later" });
};
app.use(onError);

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`POST to http://127.0.0.1:${(server.address() as AddressInfo).port}/uploads`);
});
