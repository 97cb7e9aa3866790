import { decrypt, type FileKey, type Method, type ObjectNumber } from "./pdf-crypt.ts";
import { emitString, type PdfDocument, stringText, type WrittenString } from "./pdf-document.ts";
import { type Filter, isDecodable, isFlate } from "./pdf-filters.ts";
import { looksCompressed } from "./pdf-inflate.ts";
import { dataStart, endsOf, type PdfStream, takeDecrypted, takeStream } from "./pdf-streams.ts";

/** A document with the keys that open it; none, if it is not encrypted. */
export interface EncryptedDocument extends PdfDocument {
  keys: readonly FileKey[];
  /** Those that tables give to objects, whatever is written before these. */
  generations: readonly number[];
  /** Something in it makes no sense, whatever it is decrypted by. */
  markUndecrypted(): void;
}

/** One way to decrypt something. */
interface Way {
  key: FileKey;
  id: ObjectNumber;
  method: Method;
}

/**
 * Takes one stream out by one reading of its dictionary.
 *
 * Not everything in an encrypted document is: tables, sometimes metadata, streams that ask for no encryption, or all of it
 * in a document that only says so. The data tells, and where it does not, all readings come out.
 */
export function takeAnyStream(
  document: EncryptedDocument,
  stream: PdfStream,
  { chain, seen }: { chain: Filter[]; seen: Set<number> },
): void {
  if (document.keys.length === 0) {
    takeStream(document, stream, chain, seen);
    return;
  }
  const { content, tools } = document;
  const own = chain.filter(({ name }) => name !== "Crypt");
  const start = dataStart(document.at, stream.at);
  const { ends, likelyEnd, isCut } = endsOf(document, stream, start);
  if (isCut) document.markCut();
  for (const end of isFlate(own[0]) ? [likelyEnd] : ends) {
    if (seen.has(end)) continue;
    seen.add(end);
    document.cover(start, end);
    if (end <= start || document.isTooMuch({ start, end })) continue;
    if (end - start > tools.budget.limits.memberInMemoryBytes) {
      document.markTooLarge();
      continue;
    }
    const bytes = content.bytes(start, end - start);
    if (isFlate(own[0])) takeFlate(document, stream, { bytes, chain: own });
    else takeOther(document, stream, { bytes, chain: own });
  }
}

interface Data {
  bytes: Buffer;
  chain: readonly Filter[];
}

/** Compressed data shows whether it has been decrypted rightly. */
function takeFlate(document: EncryptedDocument, stream: PdfStream, { bytes, chain }: Data): void {
  const { likely, unlikely } = waysOf(document, stream.id);
  const beginnings = bytes.subarray(0, BEGINNING);
  let taken = looksCompressed(bytes) && takeDecrypted(document, stream, { bytes, chain });
  for (const way of [...likely, ...unlikely]) {
    document.tools.budget.addWork(WAY_WORK);
    if (!looksCompressed(decryptBy(way, beginnings))) continue;
    taken = takeDecrypted(document, stream, { bytes: decryptAll(document, way, bytes), chain }) || taken;
  }
  if (taken) return;
  // Without a header, or nothing at all.
  for (const way of likely) {
    const plain = decryptAll(document, way, bytes);
    taken = plain.length === 0 || takeDecrypted(document, stream, { bytes: plain, chain }) || taken;
  }
  taken = takeDecrypted(document, stream, { bytes, chain }) || taken;
  if (!taken && bytes.length > EMPTY_BYTES) document.markUndecrypted();
}

/** Line ends, or what is left of an empty stream: nothing can be compressed to so little that is worth a look. */
const EMPTY_BYTES = 16;
/** The start and one block of AES. */
const BEGINNING = 32;

function takeOther(document: EncryptedDocument, stream: PdfStream, { bytes, chain }: Data): void {
  const { likely, unlikely } = waysOf(document, stream.id);
  const [first] = chain;
  const isText = first !== undefined && TEXT_FILTERS.has(first.name);
  const take = (plain: Buffer): boolean => {
    if (plain.length > 0) takeDecrypted(document, stream, { bytes: plain, chain });
    return plain.length === 0 || (isText ? isAscii(plain) : !hasNoise(plain));
  };
  const takeBy = (ways: readonly Way[]): boolean =>
    ways.map((way) => take(decryptAll(document, way, bytes))).includes(true);
  const makesSense = takeBy(likely);
  // Nobody takes anything but a picture out of a picture's coding, and all of them look like noise.
  const isPicture = likely.length > 0 && first !== undefined && !isDecodable(first);
  if (makesSense || isPicture) {
    if (!hasNoise(bytes)) take(bytes);
    return;
  }
  const others = [takeBy(unlikely), take(bytes)];
  if ((likely.length === 0 || isText) && !others.includes(true)) document.markUndecrypted();
}

const TEXT_FILTERS = new Set(["ASCIIHexDecode", "AHx", "ASCII85Decode", "A85"]);

function isAscii(bytes: Buffer): boolean {
  return bytes.subarray(0, BEGINNING * 2).every((byte) => byte < 0x80);
}

/** Strings in an object. Those in object streams are encrypted as part of these. */
export function takeAnyString(document: EncryptedDocument, written: WrittenString, id: ObjectNumber | undefined): void {
  const text = stringText(document, written);
  if (!text) return;
  const at = written.range.start;
  const { likely, unlikely } = waysOf(document, id);
  const take = (plain: Buffer): boolean => {
    emitString(document, at, plain);
    return !hasNoise(plain);
  };
  const makesSense = likely.map((way) => take(decryptAll(document, way, text))).includes(true);
  if (makesSense && hasNoise(text)) return;
  take(text);
  if (makesSense) return;
  for (const way of unlikely) {
    document.tools.budget.addWork(STRING_WORK);
    take(decryptAll(document, way, text));
  }
}

/** Each is a member of its own, which everybody looks at. */
const STRING_WORK = 32 * 1024;

/**
 * By the object's number as it is written. Less likely by the end of that number, where a table may point to, and by the
 * generation that a table says, or none.
 */
function waysOf(
  { keys, generations }: EncryptedDocument,
  id: ObjectNumber | undefined,
): { likely: Way[]; unlikely: Way[] } {
  if (!id) return { likely: [], unlikely: [] };
  const digits = String(id.number);
  const numbers = Array.from(digits, (_, index) => Number(digits.slice(index)));
  const ids = numbers.flatMap((number) =>
    [...new Set([id.generation, 0, ...generations])].map((generation) => ({ number, generation })),
  );
  const ways = (id: ObjectNumber): Way[] => keys.flatMap((key) => key.methods.map((method) => ({ key, id, method })));
  const [own = id, ...others] = ids;
  return { likely: ways(own), unlikely: others.flatMap(ways).filter(({ method }) => method !== "AESV3") };
}

function decryptBy({ key, id, method }: Way, bytes: Buffer): Buffer {
  return decrypt(bytes, key, { ...id, method });
}

function decryptAll(document: EncryptedDocument, way: Way, bytes: Buffer): Buffer {
  document.tools.budget.addWork(WAY_WORK + bytes.length);
  return decryptBy(way, bytes);
}

/** Making the key of an object takes as long as passing over so many bytes, or longer. */
const WAY_WORK = 2048;

const BLOCK_BYTES = 512;
/** Of sixteen values with fifteen degrees of freedom: noise gets there once in 10^20 times, a line of text always. */
const CHI_SQUARE = 130;

/** Whether some part of it looks as if it had not been decrypted, or by the wrong key. */
function hasNoise(bytes: Buffer): boolean {
  for (let start = 0; start < bytes.length; start += BLOCK_BYTES) {
    const block = bytes.subarray(Math.max(0, Math.min(start, bytes.length - BLOCK_BYTES)), start + BLOCK_BYTES);
    const counts = new Uint16Array(16);
    for (const byte of block) counts[byte >> 4] = (counts[byte >> 4] ?? 0) + 1;
    const squares = counts.reduce((sum, count) => sum + count * count, 0);
    if ((squares * 16) / block.length - block.length < CHI_SQUARE) return true;
  }
  return false;
}
