import { createCipheriv } from "node:crypto";

/** Bytes as encryption makes them, the same ones every time. */
export function noise(length: number, key = 0): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, key), Buffer.alloc(16)).update(Buffer.alloc(length));
}
