// Uploads in Fastify: what is clean is kept, everything else is refused.
import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { isClean, Lazaret, LazaretError } from "@lazaret/client";
import fastify from "fastify";

const MAX_BYTES = 200 * 1024 * 1024; // what Lazaret scans while you wait
const QUARANTINE = "data/quarantine";
const UPLOADS = "data/uploads"; // on the same disk, so that a file comes here as a whole or not at all

const lazaret = new Lazaret(); // from LAZARET_URL and LAZARET_API_KEY
const app = fastify();

// Bodies stay streams, of whatever type they are; Fastify's own parsers would hold them in memory.
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

app.post("/upload", async (request, reply) => {
  // Node takes no more bytes than this header says, so one look is enough. No length (a chunked body) is refused too.
  if (!(Number(request.headers["content-length"]) <= MAX_BYTES)) {
    return reply.code(413).send({ error: "files have at most 200 MB" });
  }
  // A name of our own: the sender's decides nothing on this disk.
  const id = randomUUID();
  const quarantined = `${QUARANTINE}/${id}`;
  try {
    const bytes = (request.body as Readable | undefined) ?? ""; // none for an empty file
    await writeFile(quarantined, bytes, { flag: "wx" }); // piece by piece, as they come
    const result = await lazaret.scan({ file: quarantined });
    if (!isClean(result)) {
      // "infected", or "no": it could not be scanned. Neither is kept.
      return reply.code(422).send({ refused: result.status, finding: result.finding });
    }
    await rename(quarantined, `${UPLOADS}/${id}`);
    return reply.code(201).send({ id });
  } finally {
    await rm(quarantined, { force: true });
  }
});

// No verdict is no reason to keep a file: whatever goes wrong, the upload failed and its sender may try again.
app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
  if (error.statusCode !== undefined && error.statusCode < 500) return reply.send(error);
  console.error(error instanceof LazaretError ? error.message : error);
  const status = error instanceof LazaretError ? 503 : 500;
  return reply.code(status).send({ error: "the file was not taken, please try again later" });
});

await mkdir(QUARANTINE, { recursive: true });
await mkdir(UPLOADS, { recursive: true });
console.log(
  `upload files to ${await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT ?? 3000) })}/upload`,
);
