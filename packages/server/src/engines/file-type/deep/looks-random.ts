const LOOKED_BYTES = 1024;
const FEWEST_BYTES = 256;
/** Chi-squared of 256 equally likely values: 255 on average, above this in one of a thousand samples. */
const UNEVEN = 330;
const HEADER_BYTES = 64;
/** Headers have zeros in them; that many in so few random bytes are one in ten thousand. */
const MOST_ZEROS = 3;

/** True for bytes as encryption and good compression make them, from the first one on: every value equally often. */
export function looksRandom(head: Uint8Array): boolean {
  const looked = head.subarray(0, LOOKED_BYTES);
  if (looked.length < FEWEST_BYTES) return false;
  const zeros = looked.subarray(0, HEADER_BYTES).reduce((count, byte) => (byte === 0 ? count + 1 : count), 0);
  if (zeros > MOST_ZEROS) return false;
  const counts = new Uint16Array(256);
  for (const byte of looked) counts[byte] = (counts[byte] ?? 0) + 1;
  const expected = looked.length / 256;
  let unevenness = 0;
  for (const count of counts) unevenness += (count - expected) ** 2 / expected;
  return unevenness < UNEVEN;
}
