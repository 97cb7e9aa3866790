import { crc32 } from "node:zlib";
import { zipsOf } from "./archives/zip-writer.ts";
import { type Blob, memoryBlob } from "./blob.ts";

/** Takes members of a zip, and shows them to clamd in small zips. */
export interface ZipsForClamd {
  add(name: string, content: Blob): void;
  /** Shows what has been added since the last zip. */
  finish(): void;
}

/** clamd's time grows with the square of the members of a zip: these take it less than a plain scan of each. */
const MEMBERS_AT_MOST = 250;
const BYTES_AT_MOST = 4 * 1024 * 1024;

/**
 * Some of clamd's signatures ask for the kind of the container, or for the name of a member in it (`Container:CL_TYPE_ZIP`,
 * `.cdb`). A zip that is too much for clamd as a whole gets a second chance here: its members as they were unpacked, stored
 * in zips that are not. Every member is shown by itself as well, so that nothing rests on how clamd reads these zips.
 */
export function zipsForClamd(show: (zip: Blob) => void): ZipsForClamd {
  let members: { name: string; content: Buffer }[] = [];
  let bytes = 0;

  function finish(): void {
    const packed = members.map(({ name, content }) => ({
      name: Buffer.from(name, "latin1"),
      method: 0,
      flags: 0,
      crc: crc32(content),
      unpackedBytes: content.length,
      packed: memoryBlob(content),
    }));
    members = [];
    bytes = 0;
    for (const zip of zipsOf(packed)) show(zip);
  }

  return {
    add(name, content) {
      if (members.length === MEMBERS_AT_MOST || bytes + content.size > BYTES_AT_MOST) finish();
      members.push({ name, content: Buffer.from(content.bytes(0, content.size)) });
      bytes += content.size;
    },
    finish,
  };
}
