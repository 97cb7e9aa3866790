/** The same bytes in every run: noise, so that neither a cache nor a file type's parser makes the scan cheap. */
export function sample(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let state = 0x2545f491;
  for (let at = 0; at < bytes; at += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    buffer[at] = state & 0xff;
  }
  return buffer;
}

/** How many files are seen again and again, in the half that is. */
export const SEEN_FILES = 64;

/**
 * Files of one size, in parts: every other one was sent before, the rest never. The first so many are all that will be
 * seen again. What tells them apart stands at the end, where no file type is looked for.
 */
export function halfSeen(bytes: number): (index: number) => readonly Uint8Array[] {
  const same = sample(bytes - 16);
  const file = (number: number): readonly Uint8Array[] => [same, Buffer.from(number.toString(16).padStart(16, "0"))];
  return (index) => file(index < SEEN_FILES || index % 2 === 0 ? index % SEEN_FILES : index);
}
