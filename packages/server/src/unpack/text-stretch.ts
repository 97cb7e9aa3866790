/** The shortest line by which an encoded file is known: `=ybegin line=128 size=60`. */
export const TEXT_BYTES = 24;

const PRINTABLE = 1;
/** For each byte, whether it is in text by itself (1), in between (2), or not at all (0). */
export const KIND_OF_BYTE: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  if ((byte >= 0x20 && byte < 0x7f) || [0x09, 0x0a, 0x0c, 0x0d].includes(byte)) return PRINTABLE;
  return byte === 0 ? 2 : 0;
});

/**
 * Whether there is any stretch of letters, digits and the like: noise has none, most pictures have none. Text of two bytes a
 * character has a zero in every second place, so zeros are passed over.
 */
export function holdsText(bytes: Uint8Array): boolean {
  let start = 0;
  for (let end = TEXT_BYTES - 1; end < bytes.length; end = start + TEXT_BYTES - 1) {
    // From the back: what no stretch goes across need not be looked at before that.
    let at = end;
    while (at >= start && KIND_OF_BYTE[bytes[at] as number] !== 0) at -= 1;
    if (at >= start) {
      start = at + 1;
      continue;
    }
    let length = 0;
    for (at = start; at < bytes.length; at += 1) {
      const kind = KIND_OF_BYTE[bytes[at] as number];
      if (kind === 0) break;
      if (kind === PRINTABLE) length += 1;
      if (length >= TEXT_BYTES) return true;
    }
    start = at + 1;
  }
  return false;
}

/** Whether all of it is text of one byte a character. */
export function isText(bytes: Uint8Array): boolean {
  return bytes.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d));
}
