import { type Blob, piecesOf, type Range } from "./blob.ts";
import type { Budget } from "./budget.ts";
import type { ByteAt } from "./byte-pattern.ts";
import type { WasmModule } from "./web-assembly.ts";

/**
 * Something that holds other content is a container; what it holds are its members. An opener knows one kind of container:
 * where in a content such a container is, and how to take its members out.
 *
 * Openers run in a thread that can be killed, on bytes that somebody made to hurt us. They are linear in their input, keep
 * no more in memory than one member, charge the budget for what they do, and are lenient: where common programs disagree
 * about what is in a container, all readings come out. Where nothing comes out that should, they say so.
 */
export interface Opener {
  /** The name of the kind, as it stands in paths and in the docs: `zip`, `mail`. */
  readonly kind: string;
  /** All of it is members, structure and padding: whoever has seen the members has seen all there is. A text is not like that. */
  readonly archive?: true;
  /** Its members lie in it in pieces: what its bytes look like, one behind the other, is no proof of anything. */
  readonly scattered?: true;
  /** Whatever it finds has one of these bytes at its offset: nothing else is asked about. All contents are, where this is missing. */
  readonly knownBy?: readonly ByteAt[];
  /** Where in the content there are such containers. Cheap: it is asked about every content. */
  find(content: Blob): readonly Place[];
  /** Takes the members out of one container, which is the content from the `start` of a place that was found to its `end`. */
  open(container: Blob, tools: Tools, place?: Place): Outcome | Promise<Outcome>;
}

export interface Place extends Range {
  /** Whether we know: a content with such a place is never clean unless it could be opened. Otherwise it is a try. */
  sure: boolean;
}

export type Outcome = Opening & {
  /** Another unpacker would take beyond measure over this container: that gets the members only. */
  crowded?: boolean;
};

type Opening =
  /**
   * All members came out whole. `covered` are the stretches of the container that were turned into members, or are
   * structure or padding; what is left is looked at as a member of its own.
   */
  | {
      kind: "opened";
      covered: readonly Range[];
      /** Stretches of encoded text that have come out in the only way there is to read them: nobody need try again. */
      decoded?: readonly Range[];
      /** It is encrypted, with a key that everybody has: others may say that they cannot look into it. */
      decrypted?: true;
    }
  | { kind: "encrypted" }
  /** It wants more memory than we give. */
  | { kind: "too-large" }
  /**
   * Damaged, or packed by a method nobody knows. What could be taken out has been given to the sink. `proven`: what came out of a
   * place that was only a try leaves no doubt that it is one.
   */
  | { kind: "unreadable"; proven?: boolean };

export interface Tools {
  sink: MemberSink;
  budget: Budget;
  sevenZip: WasmModule;
  /** What others who opened the same content have decoded. */
  decoded?: readonly Range[];
}

/** Takes members, one after the other. Whatever it throws must come through the opener. */
export interface MemberSink {
  /** A folder, of which nothing but its name is known. */
  folder(): void;
  /**
   * `way` says how the member was packed (`zip/deflated`) if that was done in the ordinary way, by the book, so that
   * another unpacker who has shown to know that way has found this member too. Left out in case of doubt.
   */
  begin(name: string, way?: string, options?: MemberOptions): void;
  write(bytes: Uint8Array): void;
  end(): void;
}

export interface MemberOptions {
  /** What nothing in the container uses, parts of what once was there: that it cannot be read is no reason to doubt. */
  leftover?: boolean;
  /** A piece of another member that comes out as well: where that is whole, the piece need not be. */
  isPart?: boolean;
}

/** One member, given as a whole. */
export function emit(
  sink: MemberSink,
  member: { name: string; content: Uint8Array; way?: string; isPart?: boolean },
): void {
  sink.begin(member.name, member.way, { isPart: member.isPart ?? false });
  sink.write(member.content);
  sink.end();
}

/** One that stands somewhere as it is, however large. */
export function emitStored(sink: MemberSink, member: { name: string; content: Blob; way?: string | undefined }): void {
  sink.begin(member.name, member.way);
  for (const { bytes } of piecesOf(member.content, PIECE_BYTES)) sink.write(bytes);
  sink.end();
}

const PIECE_BYTES = 1024 * 1024;

/** All of a container: nothing is left over. */
export function whole(container: Blob): readonly Range[] {
  return [{ start: 0, end: container.size }];
}
