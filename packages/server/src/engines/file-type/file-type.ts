import { askedBy, mayKnow } from "../../unpack/byte-pattern.ts";
import { isPdf } from "./checks.ts";
import {
  compoundFileKind,
  elfKind,
  gzipKind,
  matroskaKind,
  mp4Kind,
  taggedKind,
  tiffKind,
  windowsKind,
} from "./closer-kinds.ts";
import { KINDS, type Kind, kinds, nameOf } from "./kinds.ts";
import { markupKind } from "./markup.ts";
import { jsonKind, looseMarkdownKind, mailKind, structuredKind, tableKind, yamlKind } from "./plain-formats.ts";
import { bytesAt, type Sample } from "./sample.ts";
import { type Check, signatures } from "./signature.ts";
import { interpreterKind, sourceKind } from "./source-code.ts";
import { firstLines, readText, type Text } from "./text.ts";
import { zipKind } from "./zip-family.ts";

/**
 * The real type of a file, by the bytes of its ends alone: a name for people, `data` in the worst case. Runs where the bytes arrive:
 * it unpacks a few kilobytes at most, takes time in proportion to the sample at worst, and never throws.
 */
export function fileTypeOf(sample: Sample): string {
  return nameOf(kindOf(sample));
}

/** Kinds that a signature tells in general: what they are in particular, or nothing if they are none. */
const CLOSER: Partial<Record<Kind, (sample: Sample) => Kind | undefined>> = {
  zip: zipKind,
  cfb: compoundFileKind,
  dos: windowsKind,
  elf: elfKind,
  mkv: matroskaKind,
  mp4: mp4Kind,
  tif: tiffKind,
  gz: gzipKind,
  mp3: (sample) => taggedKind(sample, kindOf),
};

const marks = kinds.flatMap((kind) => KINDS[kind].slice(1).map((mark) => ({ kind, mark })));
const bytes = marks
  .flatMap(({ kind, mark }) =>
    typeof mark === "string" ? signatures(mark).map((signature) => ({ kind, ...signature })) : [],
  )
  .map((signature, rank) => ({ ...signature, rank }));
const ASKED_BY_BYTE = askedBy(bytes);
const OPENINGS = marks.flatMap(({ kind, mark }) => (mark instanceof RegExp ? [{ kind, pattern: mark }] : []));
const ANY_OPENING = anyOf(OPENINGS.map(({ pattern }) => pattern));
const CHECKS = marks.flatMap(({ kind, mark }) => (typeof mark === "function" ? [{ kind, fits: mark as Check }] : []));

function kindOf(sample: Sample): Kind {
  const [first] = sample.head;
  if (first === undefined) return "empty";
  // Read once, and only if it is needed: the letters of a signature may be those of a text.
  let read: { text: Text | undefined } | undefined;
  const text = (): Text | undefined => {
    read ??= { text: readText(sample) };
    return read.text;
  };
  for (const { kind, fits, readable } of mayFit(sample)) {
    if (!fits(sample) || (readable && text())) continue;
    const closer = CLOSER[kind];
    const found = closer ? closer(sample) : kind;
    if (found) return found;
  }
  if (isPdf(sample)) return "pdf";
  const written = text();
  if (written) return textKind(written);
  return CHECKS.find(({ fits }) => fits(sample))?.kind ?? leadingTextKind(sample) ?? "data";
}

/** The signatures that may fit, in the order of the tables. */
function mayFit(sample: Sample): typeof bytes {
  const found = mayKnow(ASKED_BY_BYTE, (offset) =>
    offset < 0 ? bytesAt(sample, sample.sizeBytes + offset, 1)[0] : sample.head[offset],
  );
  return found.sort((one, other) => one.rank - other.rank);
}

function textKind(text: Text): Kind {
  const form = formKind(text) ?? jsonKind(text);
  if (form) return form;
  const lines = firstLines(text);
  const loose = yamlKind(lines) ?? sourceKind(text.start) ?? tableKind(lines) ?? looseMarkdownKind(text.start);
  return loose ?? (text.start.startsWith("#!") ? "script" : text.encoding);
}

/** Forms that a few lines prove. */
function formKind(text: Text): Kind | undefined {
  return (
    interpreterKind(text.start) ??
    markupKind(text) ??
    mailKind(text.start) ??
    openingKind(text.start) ??
    structuredKind(text.start)
  );
}

function openingKind(start: string): Kind | undefined {
  // Nearly all begin like none of them, which one pattern tells at once.
  if (!ANY_OPENING.some((pattern) => pattern.test(start))) return undefined;
  return OPENINGS.find(({ pattern }) => pattern.test(start))?.kind;
}

/** Patterns of which one fits where one of these does: those at the beginning in one, those anywhere in another, for each kind of flags. */
function anyOf(patterns: readonly RegExp[]): RegExp[] {
  const alike = Map.groupBy(patterns, ({ source, flags }) => `${source.startsWith("^")} ${flags}`);
  return [...alike.values()].map(
    (some) => new RegExp(some.map(({ source }) => `(?:${source})`).join("|"), some[0]?.flags),
  );
}

const LEADING_BYTES = 512;
const FEWEST_LEADING_BYTES = 8;

/** Scripts, pages, letters and pictures may carry a load of other bytes behind their text, and work all the same. */
function leadingTextKind({ head, sizeBytes }: Sample): Kind | undefined {
  const zero = head.indexOf(0);
  const start = head.subarray(0, Math.min(LEADING_BYTES, zero < 0 ? LEADING_BYTES : zero));
  if (start.length < Math.min(FEWEST_LEADING_BYTES, sizeBytes)) return undefined;
  const opening = openingKind(Buffer.from(start).toString("latin1"));
  if (opening) return opening;
  const text = readText({ head: start, tail: start, sizeBytes: start.length });
  return text && formKind(text);
}
