import { createHash, hash } from "node:crypto";
import { findings } from "@lazaret/contract";
import { type ArchiveKind, archiveKinds, KINDS_AT_MOST } from "../unpack/archive-kinds.ts";
import { vbaSources } from "../unpack/documents/vba-source.ts";
import { memberShelf } from "../unpack/member-shelf.ts";
import { openArchive } from "../unpack/open-archive.ts";
import type { MemberSink } from "../unpack/seven-zip/emscripten-files.ts";
import type { UnpackOutcome } from "../unpack/seven-zip/unpack-outcome.ts";
import type { CompiledRules } from "../yara/compile-rules.ts";
import type { WasmModule } from "../yara/web-assembly.ts";
import { type Blob, memoryBlob } from "./blob.ts";
import { matchTogether } from "./match-together.ts";
import { LimitExceeded, type ScanBudget } from "./scan-budget.ts";

export interface Tools {
  rules: CompiledRules;
  sevenZip: WasmModule;
  budget: ScanBudget;
  /** For what is unpacked and too large for memory. */
  folder: string;
  /** Room for `JOINED_BYTES`. */
  memory: Uint8Array;
}

export type Outcome = { kind: "clean" } | { kind: "infected" | "unscannable"; finding: string };

/**
 * Looks at a file and at all that is packed in it. The first match ends it. A part that cannot be looked at does not: what
 * comes after it may be infected, which is the worse news; only in the end it makes the file unscannable.
 */
export async function lookInside(file: Blob, tools: Tools): Promise<Outcome> {
  const { rules, budget, sevenZip } = tools;
  using shelf = memberShelf(tools.folder);
  /** Archives to be opened, the innermost first, so that little is kept at a time. */
  const waiting: { content: Blob; kind: ArchiveKind; layer: number; release(): void }[] = [];
  const seen = new Set<string>();
  let doubt: string | undefined;

  /** The same bytes again have the same in them: many archives repeat files, and bombs consist of little else. */
  function isRepeated(content: Blob): boolean {
    const digest = digestOf(content);
    if (seen.has(digest)) return true;
    seen.add(digest);
    return false;
  }

  function match(content: Blob): void {
    budget.check();
    const finding = rules.match(content);
    if (finding !== undefined) throw new Found(finding);
  }

  const together = matchTogether(rules, tools.memory, match);

  function queue(content: Blob, layer: number, keep: () => { content: Blob; release(): void }): void {
    const kinds = archiveKinds(content);
    if (kinds.length > KINDS_AT_MOST) doubt ??= findings.limitsExceeded;
    if (layer >= budget.limits.layers) {
      if (kinds.some(({ sure }) => sure)) doubt ??= findings.limitsExceeded;
      return;
    }
    if (kinds.length === 0) return;
    const kept = keep();
    for (const [index, kind] of kinds.slice(0, KINDS_AT_MOST).entries()) {
      waiting.push({ content: kept.content, kind, layer, release: index === 0 ? kept.release : () => {} });
    }
  }

  function sinkFor(kind: ArchiveKind, layer: number): MemberSink {
    return {
      folder: budget.check,
      begin(name) {
        budget.addMember();
        shelf.begin();
        if (kind.type === "Compound" && name === ENCRYPTED_DOCUMENT) doubt ??= findings.encrypted;
      },
      write(bytes) {
        budget.addBytes(bytes.length);
        shelf.append(bytes);
      },
      end() {
        const content = shelf.content();
        if (isRepeated(content)) return;
        together.add(content);
        if (kind.type === "Compound")
          for (const source of vbaSources(content.bytes(0, STREAM_BYTES))) match(memoryBlob(source));
        queue(content, layer + 1, shelf.keep);
      },
    };
  }

  async function open(archive: Blob, kind: ArchiveKind, layer: number): Promise<void> {
    const options = { program: sevenZip, memoryBytes: budget.limits.unpackerBytes, sink: sinkFor(kind, layer) };
    const outcome = await openArchive(archive, kind, options);
    together.finish();
    doubt ??= doubtOf(outcome, kind);
    if (outcome.kind !== "unpacked" || outcome.tailBytes === 0 || !kind.sure) return;
    // What stands behind an archive may be another one.
    budget.addMember();
    const tail = archive.slice(kind.end - outcome.tailBytes, kind.end);
    queue(tail, layer, () => ({ content: tail, release() {} }));
  }

  async function lookAtAll(): Promise<void> {
    match(file);
    queue(file, 1, () => ({ content: file, release() {} }));
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      await open(next.content, next.kind, next.layer);
      next.release();
    }
  }

  try {
    await lookAtAll().catch((error) => {
      if (!(error instanceof LimitExceeded)) throw error;
      doubt = findings.limitsExceeded;
      together.finish();
    });
  } catch (error) {
    if (error instanceof Found) return { kind: "infected", finding: error.finding };
    if (!(error instanceof LimitExceeded)) throw error;
  }
  return doubt === undefined ? { kind: "clean" } : { kind: "unscannable", finding: doubt };
}

/** The stream that Office puts an encrypted document in. */
const ENCRYPTED_DOCUMENT = "EncryptedPackage";
/** Macros are text: streams of a compound file are searched for their source this far. */
const STREAM_BYTES = 16 * 1024 * 1024;

function doubtOf(outcome: UnpackOutcome, kind: ArchiveKind): string | undefined {
  if (outcome.kind === "encrypted") return findings.encrypted;
  if (outcome.kind === "too-large") return findings.limitsExceeded;
  return outcome.kind === "unreadable" && kind.sure ? findings.unsupportedArchive : undefined;
}

/** By a hash for which nobody can make two contents of one digest. */
function digestOf(content: Blob): string {
  if (content.inMemory) return hash("sha256", content.bytes(0, content.size), "base64");
  const running = createHash("sha256");
  for (let at = 0; at < content.size; at += HASHED_AT_ONCE) running.update(content.bytes(at, HASHED_AT_ONCE));
  return running.digest("base64");
}

const HASHED_AT_ONCE = 1024 * 1024;

/** Leaves the unpacker, however deep, as soon as a rule matches. */
class Found extends Error {
  readonly finding: string;

  constructor(finding: string) {
    super(finding);
    this.name = "Found";
    this.finding = finding;
  }
}
