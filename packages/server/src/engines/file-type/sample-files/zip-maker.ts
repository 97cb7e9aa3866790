import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  name: string;
  content?: string | Uint8Array;
  stored?: boolean;
  /** Sizes after the bytes, as writers to a stream leave them. */
  streamed?: boolean;
}

/** A ZIP made here, so that tests choose the order, the packing and the headers of its members. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content = "", stored = false, streamed = false } of entries) {
    const plain = Buffer.from(content);
    const packed = stored ? plain : deflateRawSync(plain);
    const nameBytes = Buffer.from(name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(streamed ? 8 : 0, 2);
    fields.writeUInt16LE(stored ? 0 : 8, 4);
    fields.writeUInt32LE(crc32(plain), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(plain.length, 18);
    fields.writeUInt16LE(nameBytes.length, 22);

    const local = Buffer.from(fields);
    if (streamed) local.fill(0, 10, 22);
    const after = streamed ? Buffer.concat([Buffer.from("PK\x07\x08", "latin1"), fields.subarray(10, 22)]) : "";
    const member = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), local, nameBytes, packed, Buffer.from(after)]);
    pieces.push(member);

    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\x00", "latin1"), fields, rest, nameBytes);
    at += member.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...pieces, central, end]);
}
