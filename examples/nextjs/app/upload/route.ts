// A route handler of Next.js' app router: what is clean is kept, everything else is refused.
import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { isClean, Lazaret, LazaretError } from "@lazaret/client";

export const runtime = "nodejs"; // files need Node

const MAX_BYTES = 200 * 1024 * 1024; // what Lazaret scans while you wait
const QUARANTINE = "data/quarantine";
const UPLOADS = "data/uploads"; // on the same disk, so that a file comes here as a whole or not at all

export async function POST(request: Request): Promise<Response> {
  // Node takes no more bytes than this header says, so one look is enough. No length (a chunked body) is refused too.
  if (!(Number(request.headers.get("content-length") ?? Number.NaN) <= MAX_BYTES)) {
    return Response.json({ error: "files have at most 200 MB" }, { status: 413 });
  }
  // A name of our own: the sender's decides nothing on this disk.
  const id = randomUUID();
  const quarantined = `${QUARANTINE}/${id}`;
  try {
    await mkdir(QUARANTINE, { recursive: true });
    await mkdir(UPLOADS, { recursive: true });
    // Not request.formData(), which holds the whole file in memory: the body is the file, piece by piece as it comes.
    await writeFile(quarantined, request.body ?? "", { flag: "wx" });
    const lazaret = new Lazaret(); // here and not above: a build has no LAZARET_URL and LAZARET_API_KEY
    const result = await lazaret.scan({ file: quarantined }, { signal: request.signal });
    if (!isClean(result)) {
      // "infected", or "no": it could not be scanned. Neither is kept.
      return Response.json({ refused: result.status, finding: result.finding }, { status: 422 });
    }
    await rename(quarantined, `${UPLOADS}/${id}`);
    return Response.json({ id }, { status: 201 });
  } catch (error) {
    // No verdict is no reason to keep a file: whatever goes wrong, the upload failed and its sender may try again.
    console.error(error instanceof LazaretError ? error.message : error);
    const status = error instanceof LazaretError ? 503 : 500;
    return Response.json({ error: "the file was not taken, please try again later" }, { status });
  } finally {
    await rm(quarantined, { force: true });
  }
}
