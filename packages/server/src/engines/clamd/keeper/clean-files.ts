import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { compoundFile, gzip, mail, pdf, TAR_END, tarHeader, tarPadding, zip } from "../canary-files.ts";

/** A harmless file of one kind. */
export interface CleanFile {
  name: string;
  bytes: Buffer;
}

const TEXT = Buffer.from("The quick brown fox jumps over the lazy dog. Nothing in here does any harm.\n".repeat(20));
const HTML =
  "<!doctype html><html><head><title>Order</title></head><body><p>Thank you.</p><script>document.title += '!';</script></body></html>";
const RELATIONS = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`;
const DOCUMENT = `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p></w:body></w:document>`;
/** One grey pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const SECTOR_BYTES = 512;

/**
 * What no signature may find anything in: one file of each kind that people send most, and programs of this machine. A database that
 * calls one of them infected would call half the world so.
 */
export function cleanFiles(programs: readonly string[] = ["/bin/sh"]): CleanFile[] {
  const made: [string, Buffer][] = [
    ["nothing", Buffer.alloc(0)],
    ["text", TEXT],
    ["html", Buffer.from(HTML)],
    ["json", Buffer.from(JSON.stringify({ order: 4711, items: ["a", "b"], total: 12.5 }))],
    ["png", Buffer.from(PNG, "base64")],
    ["pdf", pdf(deflateSync("BT /F1 12 Tf 72 720 Td (Invoice) Tj ET"))],
    ["zip", zip([{ name: "readme.txt", content: TEXT, deflated: true }])],
    ["docx", zip([part("[Content_Types].xml", RELATIONS), part("word/document.xml", DOCUMENT)])],
    ["gzip", gzip(TEXT)],
    ["tar", Buffer.concat([tarHeader(TEXT.length), TEXT, tarPadding(TEXT.length), TAR_END])],
    ["mail", mail(TEXT)],
    ["ole", compoundFile(Buffer.concat([TEXT, TEXT, TEXT]).subarray(0, SECTOR_BYTES * 9))],
    ["zeros", Buffer.alloc(256 * 1024)],
    ["our own source", readFileSync(fileURLToPath(import.meta.url))],
  ];
  return [...made.map(([name, bytes]) => ({ name, bytes })), ...programs.flatMap(programFile)];
}

function part(name: string, text: string): { name: string; content: Buffer; deflated: true } {
  return { name, content: Buffer.from(text), deflated: true };
}

/** Not every machine has it. */
function programFile(path: string): CleanFile[] {
  try {
    return [{ name: path, bytes: readFileSync(path) }];
  } catch {
    return [];
  }
}
