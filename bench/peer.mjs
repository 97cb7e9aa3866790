// A typical upload scanner: Express, multer in memory, npm clamscan over the socket. Usage: node peer.mjs <socket>
import { Readable } from "node:stream";
import NodeClam from "clamscan";
import express from "express";
import multer from "multer";

const [socket] = process.argv.slice(2);
const clam = await new NodeClam().init({ clamdscan: { socket, host: false, port: false, localFallback: false } });
const upload = multer({ storage: multer.memoryStorage(), limits: { fileSize: 200 * 1024 * 1024, files: 1 } });

const app = express();
app.post("/scan", upload.single("file"), async (request, response) => {
  if (request.headers.authorization !== "Bearer a-key-for-the-bench") return response.status(401).end();
  const { isInfected, viruses } = await clam.scanStream(Readable.from(request.file.buffer));
  return response.json({ status: isInfected ? "infected" : "clean", finding: viruses[0], size: request.file.size });
});
const server = app.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`listening ${address?.port}`);
});
