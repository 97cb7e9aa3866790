import { createHash, hash } from "node:crypto";
import { findings } from "@lazaret/contract";
import { type Blob, gaps, memoryBlob, piecesOf, type Range } from "./blob.ts";
import { type Budget, LimitExceeded } from "./budget.ts";
import { memberStore } from "./member-store.ts";
import type { MemberSink, Outcome } from "./opener.ts";
import { containersIn, type Found } from "./openers.ts";
import type { WasmModule } from "./web-assembly.ts";
import { zipsForClamd } from "./zips-for-clamd.ts";

/** Whoever wants to see what is in a file. Whatever it throws ends the walk. */
export interface Visitor {
  /** Every content there is, as soon as it is there: the file, its members, their members. */
  see(content: Blob, path: MemberPath): void;
  /** Somebody with an unpacker of its own. */
  other?: OtherUnpacker;
}

/** How a member is found: the names of the containers around it, and its own. */
type MemberPath = readonly string[];

interface OtherUnpacker {
  /**
   * - `file`: the file as it is, by another way, unless that turns out to be too much (`Crowded`), and what it does not open;
   * - `contents`: every content by itself;
   * - `members`: the same, with the archives they came out of in pieces, as they have turned out to be too much for it.
   */
  gets: "file" | "contents" | "members";
  /** The ways of packing that it is known to open: what is packed so, all the way from the file on, it has seen. */
  opens: ReadonlySet<string>;
  /**
   * Shows it what it has not seen. A container comes after its members, and only if it is no trap. `shownElsewhere`: what is
   * encrypted in it has been opened, or all of it is shown in another way as well.
   */
  show(content: Blob, path: MemberPath, shownElsewhere?: "encrypted" | "all"): void;
}

export interface WalkTools {
  budget: Budget;
  sevenZip: WasmModule;
  /** For what is unpacked and too large for memory. */
  folder: string;
  /** Kinds that are no reason to doubt when they cannot be opened. */
  ignored: ReadonlySet<string>;
}

export interface Walked {
  doubt?: Doubt;
  /** Something encrypted was in it, and has been opened. */
  decrypted: boolean;
}

/** Something in the file could not be looked at. */
export interface Doubt {
  finding: string;
  path: MemberPath;
  why: string;
}

/**
 * There is more in the file than the other unpacker may be given at once. It has to be walked again with nothing being
 * taken for seen, and the file as a whole must not be shown.
 */
export class Crowded extends Error {}

/**
 * What even a clamd with stock settings goes through: more members, deeper ones or larger ones it passes over, with or without
 * saying so, and its time grows with the square of the members of a zip.
 */
const CROWD = { members: 4000, bytes: 300 * 1024 * 1024, memberBytes: 90 * 1024 * 1024, layers: 12 } as const;

/** Of an archive that is too much as a whole: too little of it to be that. */
const WINDOW = { bytes: 1024 * 1024, overlap: 64 * 1024 } as const;

interface Content {
  content: Blob;
  path: MemberPath;
  layer: number;
  /** The other unpacker has come across it by itself. */
  seen: boolean;
  /** It may be pieces of different things: what nothing uses any more, or what a wrong guess took out. */
  leftover: boolean;
  found: readonly Found[];
  /** It is a piece of something else that came out: containers of these kinds are whole there, or in doubt there. */
  partOf?: ReadonlySet<string>;
}

/** A member that is opened when its container is done with. */
interface Waiting extends Content {
  isPart: boolean;
  digest: string;
  release(): void;
}

/** Which stretches of a content have been accounted for, and whether all that is in them came out. */
interface Account {
  covered: Range[];
  whole: boolean;
  archive: boolean;
  /** Kinds of its members that are certain, and how they begin. */
  beginnings: ReadonlySet<string>;
}

/**
 * Goes through a file and everything in it, a tree of members. A part that cannot be looked at does not end it: what comes
 * after it may be infected, which is the worse news; the first such part is the answer in the end.
 */
export async function walk(file: Blob, visitor: Visitor, tools: WalkTools): Promise<Walked> {
  using store = memberStore(tools.folder);
  const { budget } = tools;
  const { other } = visitor;
  /** Of what was looked at; false if what is wrong with it did not count there. */
  const digests = new Map<string, boolean>();
  const beginningsByDigest = new Map<string, readonly string[]>();
  /** Of what the other unpacker must not get as a whole. */
  const trapped = new Set<string>();
  let [members, bytes, decrypted, traps] = [0, 0, 0, 0];
  let doubt: Doubt | undefined;

  function note(finding: string | undefined, path: MemberPath, why: string): void {
    if (finding !== undefined) doubt ??= { finding, path, why };
  }

  /**
   * The same bytes again have the same in them: many archives repeat files, and bombs consist of little else. But what was
   * a leftover there may be a member here, and then counts.
   */
  function isRepeated(digest: string, counts: boolean): boolean {
    const before = digests.get(digest);
    if (before === true || before === counts) return true;
    digests.set(digest, counts);
    return false;
  }

  function count(member: Blob, layer: number): void {
    members += 1;
    bytes += member.size;
    const many = members > CROWD.members || bytes > CROWD.bytes || member.size > CROWD.memberBytes;
    if (other?.gets === "file" && (many || layer > CROWD.layers)) throw new Crowded();
  }

  /** Members that hold others wait in `waiting` until the container is done, so that one is open at a time. */
  function sinkFor(
    parent: Content,
    { opener, place }: Found,
    { waiting, beginnings }: { waiting: Waiting[]; beginnings: Set<string> },
  ): MemberSink {
    // The other one opens what a content begins with, and nothing in the middle of it.
    const likewise = parent.seen && place.start === 0 && place.end === parent.content.size;
    let [path, seen, leftover, isPart] = [parent.path, false, parent.leftover, false];
    let emitted = 0;
    return {
      folder: budget.check,
      begin(name, way, options) {
        isPart = options?.isPart ?? false;
        budget.addMember();
        store.begin();
        path = [...parent.path, nameOf(name) || opener.kind];
        seen = likewise && way !== undefined && (other?.opens.has(way) ?? false);
        leftover = parent.leftover || (options?.leftover ?? false);
      },
      write(piece) {
        budget.addBytes(piece.length);
        store.append(piece);
      },
      end() {
        const content = store.content();
        if (content.size === 0) return;
        emitted += 1;
        // clamd goes through all of them, also where we have looked at the same before.
        if (emitted === CROWD.members + 1 && opener.archive && other?.gets !== "file") traps += 1;
        const digest = digestOf(content);
        if (isRepeated(digest, !leftover && !isPart)) {
          if (trapped.has(digest)) traps += 1;
          for (const beginning of beginningsByDigest.get(digest) ?? []) beginnings.add(beginning);
          return;
        }
        const layer = parent.layer + 1;
        if (opener.archive) count(content, layer);
        visitor.see(content, path);
        const found = containersIn(content);
        const begun = sureKinds(found).map((kind) => beginningOf(kind, content));
        if (begun.length > 0) beginningsByDigest.set(digest, begun);
        for (const beginning of begun) beginnings.add(beginning);
        // Whoever unpacks with limits cuts what is large, some without saying so.
        seen &&= content.size <= SEEN_BYTES;
        if (found.length === 0) {
          if (!seen) other?.show(content, path);
        } else waiting.push({ path, layer, seen, leftover, found, isPart, digest, ...store.keep() });
      },
    };
  }

  /**
   * Opens one container, and then what waits in it. `decoded` is what has been decoded of the content so far, `around` are the archives
   * that opened and that it stands in: a zip that was packed once more, but does not shrink, can be seen in pieces there.
   */
  async function open(
    parent: Content,
    found: Found,
    { decoded, around }: { decoded: Range[]; around: readonly Account[] },
  ): Promise<Account | undefined> {
    const { opener, place } = found;
    const container = parent.content.slice(place.start, place.end);
    const beginning = around.length > 0 ? beginningOf(opener.kind, container) : "";
    const isShadow = around.some(({ beginnings: inside }) => inside.has(beginning));
    const isSure = place.sure && !isShadow;
    const waiting: Waiting[] = [];
    const beginnings = new Set<string>();
    const sink = sinkFor(parent, found, { waiting, beginnings });
    const outcome = await opener.open(container, { sink, budget, sevenZip: tools.sevenZip, decoded }, place);
    const isExcused = outcome.kind === "unreadable" && parent.partOf?.has(opener.kind);
    if (outcome.crowded) {
      traps += 1;
      if (other?.gets === "file") throw new Crowded();
    }
    const isProven = outcome.kind === "unreadable" && outcome.proven === true && around.length === 0;
    const sure = isSure || isProven;
    if (!tools.ignored.has(opener.kind) && !isExcused)
      note(doubtOf(outcome, sure && !parent.leftover), parent.path, `${opener.kind}: ${outcome.kind}`);
    // A guess is wrong if it cannot be opened. A document in the raw bytes of an archive is in pieces, and says nothing either.
    const isArchive = !opener.archive && parent.found.some((other) => other.place.sure && other.opener.archive);
    const isWrong = isShadow || (!sure && (outcome.kind !== "opened" || isArchive));
    const partOf = new Set(waiting.flatMap(({ isPart, found: inside }) => (isPart ? [] : sureKinds(inside))));
    for (const member of waiting) {
      const leftover = member.leftover || isWrong;
      if (leftover) digests.set(member.digest, false);
      const isTrap = await enter(member.isPart ? { ...member, leftover, partOf } : { ...member, leftover });
      if (isTrap) trapped.add(member.digest);
      member.release();
    }
    const archive = opener.archive ?? false;
    if (outcome.kind !== "opened") return sure ? { covered: [place], whole: false, archive, beginnings } : undefined;
    if (outcome.decrypted) decrypted += 1;
    if (place.start === 0) for (const range of outcome.decoded ?? []) decoded.push(range);
    const covered = outcome.covered.map(({ start, end }) => ({ start: start + place.start, end: end + place.start }));
    return { covered, whole: true, archive, beginnings };
  }

  /** Opens a content in all ways that it can be, and looks at what is left of it. Answers whether it is a trap for the other unpacker. */
  async function enter(entered: Content): Promise<boolean> {
    const { content, path, layer, seen, found } = entered;
    const sure = found.filter(({ place }) => place.sure);
    if (sure.length > CONTAINERS_AT_MOST) {
      note(findings.limitsExceeded, path, `${sure.length} containers in one content`);
    }
    if (layer >= budget.limits.layers && found.length > 0) {
      note(findings.limitsExceeded, path, "containers in one another");
      return true;
    }
    const before = { members, bytes, decrypted, traps };
    const accounts: Account[] = [];
    const decoded: Range[] = [];
    const opening = sure.length > CONTAINERS_AT_MOST ? sure.slice(0, CONTAINERS_AT_MOST) : found;
    for (const one of opening.toSorted((a, b) => a.place.start - b.place.start)) {
      const around = accounts.filter((other) => other.archive && other.whole && isWithin(one.place, other.covered));
      const account = await open(entered, one, { decoded, around });
      // In a content whose members lie in pieces an archive that was guessed says nothing about the rest of it.
      const counts = one.place.sure || !sure.some(({ opener }) => opener.scattered);
      if (account) accounts.push({ ...account, archive: counts && account.archive });
    }
    // Where a content is an archive and a text as well, what is no part of the archive is left over.
    const archives = accounts.filter(({ archive }) => archive);
    const covered = (archives.length > 0 ? archives : accounts).flatMap((account) => account.covered);
    if (covered.length > 0) await enterRest(entered, covered);
    const many = members - before.members > CROWD.members || bytes - before.bytes > CROWD.bytes;
    const isTrap = many || traps > before.traps;
    if (!other || seen) return isTrap;
    const isWhole = archives.some(({ whole }) => whole);
    const elsewhere = decrypted > before.decrypted ? "encrypted" : undefined;
    if (!isTrap && !(isWhole && other.gets === "members")) other.show(content, path, elsewhere);
    else if (isWhole) {
      showInWindows(content, path, elsewhere);
      await showInZips(entered, sure);
    } else
      note(findings.limitsExceeded, path, "more in it than clamd may be given as a whole, and it is not only members");
    return isTrap;
  }

  /** The structure of an archive may hold anything, too: names, comments, the extra fields of a zip. */
  function showInWindows(content: Blob, path: MemberPath, elsewhere: "encrypted" | undefined): void {
    for (let start = 0; start < content.size; start += WINDOW.bytes - WINDOW.overlap) {
      const end = Math.min(start + WINDOW.bytes, content.size);
      budget.addWork(end - start);
      const window = withoutMembers(content.bytes(start, end - start));
      other?.show(memoryBlob(window), [...path, `bytes ${start} to ${end}`], elsewhere);
      if (end === content.size) return;
    }
  }

  /** Unpacks a zip once more, and shows its members in zips that are not too much for clamd. */
  async function showInZips({ content, path }: Content, found: readonly Found[]): Promise<void> {
    for (const { opener, place } of found.filter(({ opener }) => opener.kind === "zip")) {
      const zips = zipsForClamd((zip) => other?.show(zip, [...path, "members in a zip"], "all"));
      let name = "";
      const sink: MemberSink = {
        folder: budget.check,
        begin(given) {
          name = given;
          store.begin();
        },
        write: store.append,
        end() {
          const member = store.content();
          const isSmall = member.size > 0 && member.size <= SEEN_BYTES;
          if (isSmall && !trapped.has(digestOf(member))) zips.add(name, member);
        },
      };
      await opener.open(content.slice(place.start, place.end), { sink, budget, sevenZip: tools.sevenZip }, place);
      zips.finish();
    }
  }

  /** What no container has accounted for is a member of its own. */
  async function enterRest(parent: Content, covered: readonly Range[]): Promise<void> {
    const { content, path, layer, leftover } = parent;
    // A document around an archive has been read as a whole: its front alone looks as if it were cut off.
    const documents = new Set(parent.found.flatMap(({ opener }) => (opener.archive ? [] : [opener.kind])));
    for (const { start, end } of gaps(covered, content.size).flatMap((gap) => withoutLead(content, gap))) {
      const rest = content.slice(start, end);
      if (rest.size < REST_BYTES || isPadding(rest)) continue;
      budget.addMember();
      budget.addWork(rest.size);
      if (isRepeated(digestOf(rest), !leftover)) continue;
      const restPath = [...path, `bytes ${start} to ${end}`];
      count(rest, layer + 1);
      visitor.see(rest, restPath);
      const found = containersIn(rest);
      const partOf = start === 0 ? documents : new Set<string>();
      if (found.length > 0)
        await enter({ content: rest, path: restPath, layer: layer + 1, seen: false, leftover, found, partOf });
      else other?.show(rest, restPath);
    }
  }

  try {
    visitor.see(file, []);
    // In the second walk nothing is taken for seen, and the file itself is shown only if it is no trap.
    const seen = other ? other.gets === "file" : true;
    await enter({ content: file, path: [], layer: 1, seen, leftover: false, found: containersIn(file) });
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error;
    // The limit is the answer, whatever else was in doubt.
    doubt = { finding: findings.limitsExceeded, path: [], why: error.message };
  }
  return { ...(doubt && { doubt }), decrypted: decrypted > 0 };
}

/** The smallest limit that clamd has for a part of a file is 25 MB with stock settings. */
const SEEN_BYTES = 16 * 1024 * 1024;
/** A content that claims to be more containers than this at once is beyond the limits. */
const CONTAINERS_AT_MOST = 64;
/** No less than this can be anything by itself: checksums, descriptors and marks of a format's end are shorter. */
const REST_BYTES = 25;

function doubtOf(outcome: Outcome, sure: boolean): string | undefined {
  if (outcome.kind === "encrypted") return findings.encrypted;
  if (outcome.kind === "too-large") return findings.limitsExceeded;
  return outcome.kind === "unreadable" && sure ? findings.unsupportedArchive : undefined;
}

/** One kind that begins with the same bytes is the same thing, or made to look like it. */
function beginningOf(kind: string, content: Blob): string {
  return `${kind} ${hash("sha256", content.bytes(0, BEGINNING_BYTES), "base64")}`;
}

const BEGINNING_BYTES = 1024;

function isWithin({ start }: Range, ranges: readonly Range[]): boolean {
  return ranges.some((range) => range.start < start && start < range.end);
}

function sureKinds(found: readonly Found[]): string[] {
  return found.flatMap(({ opener, place }) => (place.sure && place.start === 0 ? [opener.kind] : []));
}

/** A gap as it is, and without the zeros or the line break that it begins with: these may belong to what is before it. */
function withoutLead(content: Blob, { start, end }: Range): Range[] {
  const head = content.bytes(start, Math.min(LEAD_BYTES, end - start));
  const lineBreak = head.toString("latin1", 0, 2).match(/^(\r\n|\n|\r)/)?.[0].length ?? 0;
  const zeros = head.findIndex((byte) => byte !== 0);
  return [...new Set([0, lineBreak, Math.max(0, zeros)])].map((lead) => ({ start: start + lead, end }));
}

const LEAD_BYTES = 64 * 1024;

/**
 * The same bytes with nothing in them that another unpacker would open, as the members have been shown: behind a zero no archive begins, but
 * for the members of a zip. Nor does a song or a database, which clamd does not look into.
 */
function withoutMembers(window: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(1), window]);
  for (let at = bytes.indexOf(ZIP_MEMBER); at !== -1; at = bytes.indexOf(ZIP_MEMBER, at)) bytes[at] = 0;
  return bytes;
}

const ZIP_MEMBER = Buffer.from("PK\x03\x04", "latin1");

/** A name is the archive's to choose: short enough for a log, and nothing in it that a terminal would obey. */
function nameOf(name: string): string {
  return name.slice(-NAME_CHARACTERS).replace(/[^\x20-\x7e\xa0-\uffff]/g, "?");
}

const NAME_CHARACTERS = 100;

/** One byte over and over, or white space. */
function isPadding(content: Blob): boolean {
  const first = content.bytes(0, 1)[0] ?? 0;
  for (const { bytes: piece } of piecesOf(content, PIECE_BYTES)) {
    if (!piece.every((byte) => byte === first || byte === 0x0a || byte === 0x0d || byte === 0x20)) return false;
  }
  return true;
}

/** By a hash for which nobody can make two contents of one digest. */
function digestOf(content: Blob): string {
  if (content.inMemory) return hash("sha256", content.bytes(0, content.size), "base64");
  const running = createHash("sha256");
  for (const { bytes } of piecesOf(content, PIECE_BYTES)) running.update(bytes);
  return running.digest("base64");
}

const PIECE_BYTES = 1024 * 1024;
