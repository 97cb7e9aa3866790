/** A tar writer that asks no questions about names and links. */
export type TarEntry = { name: string; content: Uint8Array } | { name: string; linkTo: string };

const BLOCK_BYTES = 512;

export function tar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = "content" in entry ? entry.content : new Uint8Array();
    return [tarHeader(entry), content, Buffer.alloc(-content.length & (BLOCK_BYTES - 1))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function tarHeader(entry: TarEntry): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const size = "content" in entry ? entry.content.length : 0;
  header.write(entry.name, 0);
  for (const at of [100, 108, 116]) header.write("0000644\0", at);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("linkTo" in entry ? "2" : "0", 156);
  if ("linkTo" in entry) header.write(entry.linkTo, 157);
  header.write("ustar\x0000", 257);
  // The checksum counts its own field as blanks.
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
