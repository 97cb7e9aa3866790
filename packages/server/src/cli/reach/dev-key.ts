import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DEV_KEY = "dev-key";

/** The key of `lazaret dev`: made once, kept in the data folder, readable by its owner only. */
export function devKey(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, DEV_KEY);
  try {
    writeFileSync(path, `dev-${randomBytes(18).toString("base64url")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFileSync(path, "utf8").trim();
}

/** The same if `lazaret dev` has run on this data folder, and may be read. */
export function knownDevKey(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, DEV_KEY), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
