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
