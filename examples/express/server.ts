// An upload form that keeps what is clean and refuses everything else.
import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { isClean, Lazaret, LazaretError } from "@lazaret/client";
import express, { type ErrorRequestHandler } from "express";

const MAX_BYTES = 200 * 1024 * 1024; // what Lazaret scans while you wait
const QUARANTINE = "data/quarantine";
const UPLOADS = "data/uploads"; // on the same disk, so that a file comes here as a whole or not at all

const lazaret = new Lazaret(); // from LAZARET_URL and LAZARET_API_KEY
const form = fileURLToPath(new URL("form.html", import.meta.url));
const app = express();

app.get("/", (_request, response) => response.sendFile(form));

app.post("/upload", async (request, response) => {
  // Node takes no more bytes than this header says, so one look is enough. No length (a chunked body) is refused too.
  if (!(Number(request.headers["content-length"]) <= MAX_BYTES)) {
    response.status(413).json({ error: "files have at most 200 MB" });
    return;
  }
  // A name of our own: the sender's decides nothing on this disk.
  const id = randomUUID();
  const quarantined = `${QUARANTINE}/${id}`;
  try {
    await writeFile(quarantined, request, { flag: "wx" }); // piece by piece, as they come
    const result = await lazaret.scan({ file: quarantined });
    if (!isClean(result)) {
      // "infected", or "no": it could not be scanned. Neither is kept.
      response.status(422).json({ refused: result.status, finding: result.finding });
      return;
    }
    await rename(quarantined, `${UPLOADS}/${id}`);
    response.status(201).json({ id });
  } finally {
    await rm(quarantined, { force: true });
  }
});

/** No verdict is no reason to keep a file: whatever goes wrong, the upload failed and its sender may try again. */
const onError: ErrorRequestHandler = (error, _request, response, _next) => {
  console.error(error instanceof LazaretError ? error.message : error);
  const status = error instanceof LazaretError ? 503 : 500;
  response.status(status).json({ error: "the file was not taken, please try again later" });
};
app.use(onError);

await mkdir(QUARANTINE, { recursive: true });
await mkdir(UPLOADS, { recursive: true });
const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`upload files at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
