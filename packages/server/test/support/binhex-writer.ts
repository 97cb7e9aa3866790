/** Writes BinHex 4.0 text by the rules of the format; `promised` is a length of the data that is not true. */
export function binHexText(parts: { data: Buffer; resources: Buffer; runs?: boolean; promised?: number }): Buffer {
  const { data, resources, runs = false, promised = data.length } = parts;
  const sizes = Buffer.alloc(8);
  sizes.writeUInt32BE(promised, 0);
  sizes.writeUInt32BE(resources.length, 4);
  const head = Buffer.concat([Buffer.from("\x06sample\0TEXTttxt\0\0", "latin1"), sizes]);
  const all = Buffer.concat([head, sum(head), data, sum(data), resources, sum(resources)]);
  const bits = Buffer.from(marked(all, runs)).toString("base64").replaceAll("=", "");
  const letters = [...bits].map((letter) => BINHEX[BASE64.indexOf(letter)]).join("");
  const lines = `:${letters}:`.match(/.{1,64}/g) ?? [];
  return Buffer.from(`(This file must be converted with BinHex 4.0)\r\n\r\n${lines.join("\r\n")}\r\n`, "latin1");
}

const BINHEX = "!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function marked(all: Buffer, runs: boolean): number[] {
  const out: number[] = [];
  for (let at = 0; at < all.length; ) {
    const byte = all[at] as number;
    let count = 1;
    while (runs && count < 255 && all[at + count] === byte) count += 1;
    out.push(...(byte === 0x90 ? [0x90, 0] : [byte]), ...(count > 1 ? [0x90, count] : []));
    at += count;
  }
  return out;
}

function sum(part: Uint8Array): Buffer {
  let crc = 0;
  for (const byte of [...part, 0, 0]) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      const carry = crc & 0x8000;
      crc = ((crc << 1) & 0xffff) | ((byte >> bit) & 1);
      if (carry) crc ^= 0x1021;
    }
  }
  return Buffer.from([crc >> 8, crc & 0xff]);
}
