import { gzipSync } from "node:zlib";
import { archives } from "./archives.ts";
import type { Container } from "./container.ts";
import { documents } from "./documents.ts";
import { encodings } from "./encodings.ts";
import { encryptedPdfs } from "./encrypted-pdfs.ts";
import { made } from "./made.ts";
import { mails } from "./mails.ts";
import { more } from "./more.ts";
import { LARGE_BYTES, type Payload, payloadsOf } from "./payloads.ts";
import { pdfs } from "./pdfs.ts";
import { polyglots } from "./polyglots.ts";
import { rarAnd7z } from "./rar-and-7z.ts";
import { smallKinds } from "./small-kinds.ts";
import { streams } from "./streams.ts";
import { tarOf, tars } from "./tars.ts";
import { zipOddities } from "./zip-oddities.ts";
import { zips } from "./zips.ts";

/** Every way to put a content into a file that we know of. */
export const containersOfAllKinds: readonly Container[] = [
  ...[...zips, ...zipOddities, ...streams, ...tars, ...rarAnd7z, ...archives],
  ...[...encodings, ...mails, ...pdfs, ...encryptedPdfs, ...documents, ...polyglots, ...made, ...more, ...smallKinds],
];

/** A file with a payload inside; made when it is asked for, the same in every run. */
export interface CorpusFile {
  /** The class that it counts for: its container's kind, or the wrapper around it. */
  kind: string;
  name: string;
  /** From the outermost to the one that holds the payload. */
  layers: readonly Container[];
  payload: Payload;
  make(): Buffer;
}

/** What other containers are put into: one or two of each family, those that people use. */
const wrappers: readonly Container[] = [
  ...["zip: methods/deflate", "zip: methods/lzma without an end marker", "gzip/plain"].map(named),
  {
    ...named("gzip/plain"),
    name: "tar and gzip",
    extension: ".tgz",
    wrap: (content, name) => gzipSync(tarOf(content, name)),
  },
  ...["zstd/several frames", "xz/check by CRC-64", "lzma/with an end marker", "tar: forms and sizes/pax"].map(named),
  ...["7z by hand/lzma", "ar and deb/as in GNU", "cab/MSZIP", "arj, lzh, iso/iso"].map(named),
  ...["mail: ordinary/an attachment in base64", "mail: ordinary/quoted-printable"].map(named),
  ...["PDF: filters/Flate", "PDF: filters/ASCII85 and Flate", "data URLs/a link of HTML"].map(named),
  ...["base64 in text/lines of 76", "base64 in scripts and data/JSON", "uu, xx and yEnc/plain"].map(named),
  ...["RTF/a packaged file", "OOXML embedding/an object", "OLE compound/a stream, backwards"].map(named),
  named("zip: zip64 and descriptors/zip64 in both headers"),
];

function named(path: string): Container {
  const container = containersOfAllKinds.find(({ kind, name }) => `${kind}/${name}` === path);
  if (!container) throw new Error(`there is no container ${path}`);
  return container;
}

/**
 * All files with a payload that is known to somebody, or to nobody: each container alone, each in some of the wrappers (so
 * that each kind has been in each of them), and wrappers in wrappers around a container.
 */
export function* corpus(knownTo: Payload["knownTo"]): Generator<CorpusFile> {
  const payloads = payloadsOf[knownTo];
  const small = payloads.filter(({ content }) => content.length < LARGE_BYTES);
  for (const container of containersOfAllKinds) {
    for (const payload of small) yield file([container], payload, container.kind);
  }
  let turn = 0;
  const next = (): Payload => small[turn++ % small.length] as Payload;
  for (const large of payloads.filter((payload) => !small.includes(payload))) {
    for (const container of containersOfAllKinds) {
      if (container.ordinary && container.maxBytes >= large.content.length)
        yield file([container], large, "large ones");
    }
  }
  for (const [kind, group] of Map.groupBy(containersOfAllKinds, (container) => container.kind)) {
    const each = Math.max(4, Math.ceil(wrappers.length / group.length));
    for (const [index, container] of group.entries()) {
      for (let step = 0; step < each; step += 1) {
        const wrapper = wrappers[(index * each + step + kind.length) % wrappers.length] as Container;
        yield file([wrapper, container], next(), `in ${wrapper.kind}`);
      }
    }
  }
  for (const outer of wrappers) {
    for (const middle of wrappers) {
      const container = containersOfAllKinds[(turn * 7) % containersOfAllKinds.length] as Container;
      yield file([outer, middle, container], next(), "three layers");
    }
  }
}

/**
 * Some of each class, always the same, and none that needs other programs than these. The payloads that clamd knows and
 * those that a rule knows take turns, so that each class has both.
 */
export function sample(perClass: number, programs: readonly string[]): Map<string, CorpusFile[]> {
  const chosen = new Map<string, CorpusFile[]>();
  for (const knownTo of ["clamd", "rule"] as const) {
    const possible = [...corpus(knownTo)].filter(({ layers }) =>
      layers.every(({ needs }) => needs.every((program) => programs.includes(program))),
    );
    for (const [kind, files] of Map.groupBy(possible, (each) => each.kind)) {
      const count = Math.min(perClass, files.length);
      // Other places in each class, and for each payload: all wrappers hold the same containers in the same order.
      const shift = ((kind.length * 3 + (knownTo === "clamd" ? 0 : 3)) % 7) / 7;
      const at = (index: number): number => Math.floor(((index + shift) * files.length) / count);
      const some = Array.from({ length: count }, (_, index) => files[at(index)] as CorpusFile);
      chosen.set(kind, [...(chosen.get(kind) ?? []), ...some]);
    }
  }
  return chosen;
}

function file(layers: readonly Container[], payload: Payload, kind: string): CorpusFile {
  const name = layers.map((container) => `${container.kind}/${container.name}`).join(" > ");
  const make = (): Buffer => {
    let content = payload.content;
    let contentName = "sample.txt";
    for (const container of layers.toReversed()) {
      if (content.length > container.maxBytes) throw new TooLarge(`${name}: ${content.length} bytes`);
      content = container.wrap(content, contentName);
      contentName = `sample${container.extension}`;
    }
    return content;
  };
  return { kind, name, layers, payload, make };
}

/** An inner container made more of the payload than the outer one can hold: there is no such file. */
export class TooLarge extends Error {}
