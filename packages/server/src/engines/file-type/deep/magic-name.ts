import { isKind, type Kind, nameOf } from "../kinds.ts";

/** Descriptions by libmagic of kinds that have a name of ours; they start like this. */
const BY_DESCRIPTION: readonly (readonly [RegExp, Kind])[] = [
  [/^(?:data|very short file.*)$/, "data"],
  [/cpio archive/, "cpio"],
  [/^ARJ archive/, "arj"],
  [/^LHa? /, "lzh"],
  [/^Symbian installation file/, "sis"],
  [/^TrueType/, "ttf"],
  [/^MPEG ADTS, layer III/, "mp3"],
  [/^MPEG ADTS, layer II\b/, "mp2"],
  [/^MPEG ADTS, AAC/, "aac"],
  [/^MPEG transport stream/, "mts"],
  [/^(?:POSIX |GNU )?tar archive/, "tar"],
  [/^ATSC A\/52/, "ac3"],
  [/^OpenPGP (?:Public|Secret) Key/, "pgp-key"],
];

/** Words that lead on to something about the one file; a name does not end with them. */
const LEADING_ON = /^(?:version|ver\.?|v\.?|for|with|of|from|by|in|at|to|a|an|the|and|or|is|was|using|last|-)$/i;
const MOST_WORDS = 8;
const MOST_CHARACTERS = 64;

/**
 * A name for what libmagic says. Its descriptions may quote the file (titles, authors, dates, names of files), so
 * what has no name of ours is cut down to the words that stand in libmagic's own database, one after another.
 */
export function nameByMagic(description: string, database: () => Buffer): string {
  const known = BY_DESCRIPTION.find(([pattern]) => pattern.test(description));
  if (known) return nameOf(known[1]);

  const start = /^[\w +/&'.#*-]*/.exec(description.slice(0, MOST_CHARACTERS))?.[0] ?? "";
  const cut = start.length === MOST_CHARACTERS && description.length > MOST_CHARACTERS;
  const words = start.split(/\s+/).filter((word) => word !== "");
  if (cut) words.pop();
  const details = words.findIndex((word) => /^(?:version|ver|v\d)/i.test(word));
  words.splice(details > 0 ? Math.min(details, MOST_WORDS) : MOST_WORDS);
  while (words.length > 0) {
    const name = words.join(" ");
    const last = words.at(-1) ?? "";
    if (!LEADING_ON.test(last) && /[A-Za-z]{4}/.test(name) && database().includes(name)) return name;
    words.pop();
  }
  return nameOf("data");
}

/** Extensions that file-type tells apart and we do not. */
const SAME_KIND: Readonly<Record<string, Kind>> = {
  f4a: "m4a",
  f4b: "m4a",
  f4p: "mp4",
  f4v: "mp4",
  m4b: "m4a",
  m4p: "m4a",
  jpm: "jp2",
  jpx: "jp2",
  mj2: "jp2",
  mp1: "mp2",
  ogm: "ogv",
  ogx: "ogg",
  spx: "oga",
};

export function kindByExtension(extension: string): Kind | undefined {
  return isKind(extension) ? extension : SAME_KIND[extension];
}
