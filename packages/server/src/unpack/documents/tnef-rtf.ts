import type { Budget } from "../budget.ts";

/** What every such text begins with, as far as the decoder is concerned. */
const PRELUDE = Buffer.from(
  "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx",
  "latin1",
);
const HEADER = 16;
const COMPRESSED = 0x75465a4c;
const WINDOW = 4096;

/** The text of a mail as Outlook keeps it: MS-OXRTFCP. As far as it goes; undefined if it is not compressed. */
export function rtfFromMail(packed: Buffer, budget: Budget): Buffer | undefined {
  if (packed.length <= HEADER || packed.readUInt32LE(8) !== COMPRESSED) return undefined;
  budget.addWork(packed.length);
  // A reference of two bytes gives 17 bytes at most.
  const out = Buffer.alloc(Math.min(budget.limits.memberInMemoryBytes, packed.length * 9));
  const window = Buffer.alloc(WINDOW);
  PRELUDE.copy(window);
  let to = PRELUDE.length;
  let length = 0;
  let at = HEADER;
  const put = (byte: number): void => {
    window[to] = byte;
    to = (to + 1) % WINDOW;
    out[length] = byte;
    length += 1;
  };
  while (at < packed.length) {
    const flags = packed.readUInt8(at);
    at += 1;
    for (let bit = 0; bit < 8 && at < packed.length && length < out.length; bit += 1) {
      if ((flags & (1 << bit)) === 0) {
        put(packed.readUInt8(at));
        at += 1;
        continue;
      }
      if (at + 2 > packed.length) return out.subarray(0, length);
      const reference = packed.readUInt16BE(at);
      at += 2;
      const from = reference >> 4;
      if (from === to) return out.subarray(0, length);
      for (let i = 0; i < (reference & 0xf) + 2 && length < out.length; i += 1) put(window[(from + i) % WINDOW] ?? 0);
    }
    if (length >= out.length) break;
  }
  return out.subarray(0, length);
}
