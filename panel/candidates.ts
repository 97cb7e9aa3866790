import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { Container } from "../packages/server/test/fixtures/corpus/container.ts";
import { containersOfAllKinds } from "../packages/server/test/fixtures/corpus/corpus.ts";
import { byRule } from "../packages/server/test/fixtures/corpus/payloads.ts";
import { isInstalled } from "../proof/programs.ts";
import { type Mutation, mutated, mutationsOf } from "./mutate.ts";
import { type Random, randomOf } from "./random.ts";
import { type Panel, programsFor } from "./readers.ts";

/** A file to change. */
interface Base {
  kind: string;
  name: string;
  extensions: readonly string[];
  programs: readonly string[];
  /** Known to the rules and signatures of `writeMarkers`. */
  isPayload(output: Buffer): boolean;
  /** The part that is changed, and what is put around it afterwards. */
  inner: Buffer;
  around(inner: Buffer): Buffer;
}

export interface Candidate {
  index: number;
  base: Base;
  mutations: readonly Mutation[];
  file: Buffer;
}

/** Encoded stretches in text are looked for as a best effort, outside the proof; what is locked nobody opens. */
const OUTSIDE = /^(base64 in|data URLs|hex in text|numbers in|ASCII85)/;

/** A text that is known wherever it stands: readers that give out a little more or less count as well. */
const MARKER = Buffer.from("Panel-marker-5d0c1f-which-only-one-rule-knows-wherever-it-stands");
const marked = Buffer.concat([MARKER, byRule.content, MARKER, byRule.content.subarray(0, 200).reverse(), MARKER]);

const OUTER = [
  ...["zip: methods/deflate", "zip: methods/stored", "gzip/plain", "xz/check by CRC-64", "zstd/several frames"],
  ...["tar: forms and sizes/pax", "mail: ordinary/an attachment in base64", "7z by hand/lzma", "ar and deb/as in GNU"],
  ...["cab/MSZIP", "PDF: filters/Flate", "OLE compound/a stream"],
];

/** `byHand`: only those that are made without other programs, and are the same on every machine. */
export function containersHere(pattern: RegExp, byHand: boolean): Container[] {
  return containersOfAllKinds.filter(
    ({ kind, name, locked, needs }) =>
      !locked &&
      !OUTSIDE.test(kind) &&
      pattern.test(`${kind}/${name}`) &&
      (byHand ? needs.length === 0 : needs.every(isInstalled)),
  );
}

/** A source of files: a container, or a file that others made. */
export interface Source {
  name: string;
  /** The file as it is. */
  plain(): Base;
  /** By chance marked, and in another container. */
  varied(random: Random): Base;
}

/** Builds the sources. A container that other programs make is made once. */
export function sourcesOf(containers: readonly Container[]): Source[] {
  const outers = containersOfAllKinds.filter(({ kind, name }) => OUTER.includes(`${kind}/${name}`));
  const made = new Map<string, Buffer>();
  const wrapped = (container: Container, payload: Buffer): Buffer => {
    const key = `${container.kind}/${container.name} ${payload.length}`;
    const file = made.get(key) ?? container.wrap(payload, "sample.txt");
    made.set(key, file);
    return file;
  };
  const plain = (container: Container, isMarked = false): Base => {
    const name = `${container.kind}/${container.name}`;
    const file = isMarked && container.maxBytes >= marked.length ? wrapped(container, marked) : undefined;
    // In the raw the marker would be found without opening anything.
    const usesMarker = file !== undefined && !file.includes(MARKER);
    return {
      kind: container.kind,
      name: usesMarker ? `${name}, marked` : name,
      extensions: [container.extension],
      programs: programsFor(name, container.readers),
      isPayload: usesMarker ? (output) => output.includes(MARKER) : (output) => output.equals(byRule.content),
      inner: usesMarker ? file : wrapped(container, byRule.content),
      around: (inner) => inner,
    };
  };
  const varied = (container: Container, random: Random): Base => {
    const base = plain(container, random.once(2));
    if (!random.once(4)) return base;
    const outer = random.pick(outers);
    if (base.inner.length > Math.min(outer.maxBytes, 2 ** 18)) return base;
    const wrap = (inner: Buffer): Buffer => outer.wrap(inner, `sample${container.extension}`);
    const isOutside = random.once(3);
    return {
      ...base,
      name: `${outer.kind}/${outer.name} > ${base.name}${isOutside ? " (outside)" : ""}`,
      extensions: [outer.extension, ...base.extensions],
      programs: [...new Set([...programsFor(`${outer.kind}/${outer.name}`, outer.readers), ...base.programs])],
      ...(isOutside ? { inner: wrap(base.inner) } : { around: wrap }),
    };
  };
  return containers.map((container) => ({
    name: `${container.kind}/${container.name}`,
    plain: () => plain(container),
    varied: (random) => varied(container, random),
  }));
}

/**
 * Changes the sources in turn. A file depends on the seed, its source's name and the number of the turn: a new container changes
 * nothing about the files of the others.
 */
export function candidate(sources: readonly Source[], seed: string, index: number): Candidate {
  const source = sources[index % sources.length];
  if (!source) throw new Error("no container matches");
  const random = randomOf(seed, source.name, Math.floor(index / sources.length));
  const base = source.varied(random);
  const mutations = mutationsOf(base.inner, random);
  return { index, base, mutations, file: base.around(mutated(base.inner, mutations)) };
}

interface Other extends Base {
  marker: Buffer;
}

/** Files that others made: what stands for the payload is something that a reader gives out, and that the raw file has not. */
export async function filesByOthers(folder: string, panel: Panel): Promise<Other[]> {
  const others: Other[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const file = entry.isFile() ? readFileSync(path) : Buffer.alloc(0);
    if (file.length === 0 || file.length > 2 ** 20) continue;
    const extension = extname(entry.name) || ".bin";
    const marker = (await panel.outputs(file, extension)).map((output) => markerIn(output, file)).find(Boolean);
    if (!marker) continue;
    others.push({
      ...{ kind: "files by others", name: entry.name, extensions: [extension], programs: programsFor(entry.name) },
      ...{ marker, inner: file, around: (inner) => inner, isPayload: (output) => output.includes(marker) },
    });
  }
  return others;
}

const MARKER_BYTES = 48;

function markerIn(output: Buffer, file: Buffer): Buffer | undefined {
  for (let at = 0; at + MARKER_BYTES <= output.length && at < 2 ** 16; at += 101) {
    const piece = output.subarray(at, at + MARKER_BYTES);
    if (new Set(piece).size >= 12 && !file.includes(piece)) return Buffer.from(piece);
  }
  return undefined;
}

/** Rules and signatures that know the payloads, beside those of the proof, which know the one that is whole. */
export function writeMarkers(folders: { rules: string; signatures: string }, others: readonly Other[]): void {
  const markers = [MARKER, ...others.map(({ marker }) => marker)];
  const rules = markers.map(
    (marker, index) =>
      `rule Panel_${index} { strings: $a = { ${marker.toString("hex").replaceAll(/../g, "$& ")}} condition: $a }`,
  );
  writeFileSync(join(folders.rules, "panel.yar"), `${rules.join("\n")}\n`);
  const signatures = [
    ...markers.map((marker, index) => `Panel_${index}:0:*:${marker.toString("hex")}`),
    `Panel_whole:0:0:${byRule.content.subarray(0, 64).toString("hex")}`,
  ];
  writeFileSync(join(folders.signatures, "panel.ndb"), `${signatures.join("\n")}\n`);
}
