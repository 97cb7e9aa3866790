/** A stream as clamd wants it: the command, chunks that each have their length before them, and a length of nothing. */
export const INSTREAM = Buffer.from("zINSTREAM\0");
export const END_OF_STREAM = Buffer.alloc(4);
/** So much is copied into one piece, which leaves at once. */
export const ONE_PIECE_BYTES = 16 * 1024;

/** To clamd an empty chunk is the end of the stream: nothing has no length either. */
export function commandFor({ byteLength }: Uint8Array, andMore = 0): Buffer {
  const hasLength = byteLength > 0;
  const command = Buffer.allocUnsafe(INSTREAM.length + (hasLength ? 4 : 0) + andMore);
  command.set(INSTREAM);
  if (hasLength) command.writeUInt32BE(byteLength, INSTREAM.length);
  return command;
}

/** A small file leaves in one piece, from the command to the end of the stream. */
export function inOnePiece(content: Uint8Array): Buffer {
  const piece = commandFor(content, content.byteLength + END_OF_STREAM.length);
  piece.set(content, piece.length - content.byteLength - END_OF_STREAM.length);
  piece.set(END_OF_STREAM, piece.length - END_OF_STREAM.length);
  return piece;
}
