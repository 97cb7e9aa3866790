import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { TAR_END, tarHeader, tarPadding } from "../../src/engines/clamd/canary-files.ts";

/** What clamd needs to find EICAR. */
export const eicarSignature: string = readFileSync(
  new URL("../../signatures/lazaret-test.ndb", import.meta.url),
  "utf8",
);

export interface DatabaseFacts {
  version: number;
  /** Milliseconds since 1970. */
  builtAt: number;
  /** Lines of a .ndb file. */
  signatures?: string;
}

/**
 * A database as ClamAV makes them, unsigned: as `daily.cud` clamd loads it, and tells its version and date as it does those of the
 * official one.
 */
export function dailyDatabase({ version, builtAt, signatures = eicarSignature }: DatabaseFacts): Buffer {
  const seconds = Math.floor(builtAt / 1000);
  const date = new Date(seconds * 1000).toUTCString().replace(/^\w+, (.*) (\d\d):(\d\d):.*$/, "$1 $2-$3 +0000");
  const header = `ClamAV-VDB:${date}:${version}:${signatures.trim().split("\n").length}:90:X:X:lazaret:${seconds}`;
  const content = Buffer.from(signatures);
  const digest = createHash("sha256").update(content).digest("hex");
  const about = Buffer.from(`${header}\ndaily.ndb:${content.length}:${digest}\n`);
  const files = [...member("daily.ndb", content), ...member("daily.info", about)];
  return Buffer.concat([Buffer.from(header.padEnd(512)), ...files, TAR_END]);
}

function member(name: string, content: Buffer): Buffer[] {
  const header = tarHeader(content.length);
  header.fill(0, 0, 100).write(name);
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return [header, content, tarPadding(content.length)];
}
