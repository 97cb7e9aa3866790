import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noise } from "./container.ts";

/**
 * What is hidden in the corpus. Each is known to exactly one engine, and only as a whole: by its hash, or by how it begins.
 * Whoever has not unpacked it, to its first byte and its last, cannot know it.
 */
export interface Payload {
  name: string;
  /** Who knows it: clamd, a rule, or nobody. */
  knownTo: "clamd" | "rule" | "nobody";
  /** How the engine that knows it calls it. */
  finding: string;
  content: Buffer;
}

const ordinarySignatures = fileURLToPath(new URL("../../../signatures", import.meta.url));

export const byHash = payload("by-hash", "clamd", text("by-hash", 431));
export const byStart = payload("by-start", "clamd", noise(387, "by-start"));
export const byRule = payload("by-rule", "rule", text("by-rule", 453));
const harmless = payload("harmless", "nobody", text("harmless", 444));
const largeByHash = payload("large-by-hash", "clamd", text("large-by-hash", 300_007));
const largeByRule = payload("large-by-rule", "rule", text("large-by-rule", 300_011));
const largeHarmless = payload("large-harmless", "nobody", text("large-harmless", 300_003));

/** The small ones and the large one of whoever knows them. */
export const payloadsOf: Readonly<Record<Payload["knownTo"], readonly Payload[]>> = {
  clamd: [byHash, byStart, largeByHash],
  rule: [byRule, largeByRule],
  nobody: [harmless, largeHarmless],
};

export const LARGE_BYTES = 100_000;

function payload(name: string, knownTo: Payload["knownTo"], content: Buffer): Payload {
  return { name, knownTo, finding: `Proof_${name.replaceAll("-", "_")}`, content };
}

/** Words of no language, all different, so that nothing but their letters can be packed. */
function text(seed: string, length: number): Buffer {
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789    \n,.-;:()!?";
  const random = noise(length, seed);
  return Buffer.from(random.map((byte) => letters.charCodeAt(byte % letters.length)));
}

/** A signature folder for clamd: our ordinary one, and the payloads. */
export function writeSignatures(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(ordinarySignatures)) copyFileSync(join(ordinarySignatures, name), join(folder, name));
  const hashes = [byHash, largeByHash].map(({ content, finding }) =>
    [createHash("sha256").update(content).digest("hex"), content.length, finding, "73"].join(":"),
  );
  writeFileSync(join(folder, "proof.hsb"), `${hashes.join("\n")}\n`);
  const start = byStart.content.subarray(0, 64).toString("hex");
  writeFileSync(join(folder, "proof.ndb"), `${byStart.finding}:0:0:${start}\n`);
}

/** A rules folder: one rule for each payload that a rule knows, which wants it from its first byte to its last. */
export function writeRules(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const hex = (part: Buffer): string => part.toString("hex").replaceAll(/../g, "$& ");
  const rules = payloadsOf.rule.map(({ content, finding }) =>
    [
      `rule ${finding} {`,
      `  strings:`,
      `    $start = { ${hex(content.subarray(0, 40))}}`,
      `    $end = { ${hex(content.subarray(-40))}}`,
      `  condition: $start at 0 and $end at ${content.length - 40} and filesize == ${content.length}`,
      `}`,
    ].join("\n"),
  );
  writeFileSync(join(folder, "proof.yar"), `${rules.join("\n")}\n`);
}
