import { random } from "./ordinary/random.ts";

/** Returns the same bytes in every run: noise, so that neither a cache nor a file type's parser makes the scan cheap. */
export function sample(bytes: number): Buffer {
  return random(1).noise(bytes);
}
