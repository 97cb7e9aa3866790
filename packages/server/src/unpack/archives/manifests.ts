import type { MemberSink } from "../opener.ts";

/**
 * Documents in zips say in a file of their own which of their members are encrypted: OpenDocument (also OpenOffice 1 and HWPX)
 * and EPUB. Those members look like noise, so that nobody else would notice.
 */
export function manifestWatch(sink: MemberSink): { sink: MemberSink; isEncrypted(): boolean } {
  let encrypted = false;
  let saysEncrypted: ((text: string) => boolean) | undefined;
  let pieces: Buffer[] = [];
  let bytes = 0;
  return {
    sink: {
      folder: sink.folder,
      begin(name, way, options) {
        saysEncrypted = MANIFESTS.get(name.replaceAll("\\", "/"));
        [pieces, bytes] = [[], 0];
        // What Pages, Numbers and Keynote check a password by.
        if (name === ".iwpv2") encrypted = true;
        sink.begin(name, way, options);
      },
      write(piece) {
        if (saysEncrypted && bytes < MANIFEST_BYTES) pieces.push(Buffer.from(piece));
        bytes += piece.length;
        sink.write(piece);
      },
      end() {
        // In two bytes a letter it reads the same without the zeros.
        if (saysEncrypted?.(Buffer.concat(pieces).toString("latin1").replaceAll("\0", ""))) encrypted = true;
        sink.end();
      },
    },
    isEncrypted: () => encrypted,
  };
}

const MANIFEST_BYTES = 16 * 1024 * 1024;

/** A map: members may have any name, `constructor` too. */
const MANIFESTS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["META-INF/manifest.xml", (text: string) => /<(?:[\w.-]{1,40}:)?encryption-data[\s/>]/.test(text)],
  ["META-INF/encryption.xml", saysOtherThanFonts],
]);

function saysOtherThanFonts(text: string): boolean {
  let methods = 0;
  for (const [, algorithm = ""] of text.matchAll(METHOD)) {
    if (!OBFUSCATION.includes(algorithm)) return true;
    methods += 1;
  }
  return methods === 0 && /<(?:[\w.-]{1,40}:)?CipherReference[\s/>]/.test(text);
}

/** Each part of it is bounded, or white space without end would be gone over once for each tag before it. */
const METHOD = /<(?:[\w.-]{1,40}:)?EncryptionMethod\s[^<>]{0,400}?Algorithm\s{0,20}=\s{0,20}["']([^"']{0,200})/g;

/** Fonts are made unusable outside of their book, by a key that stands in it. */
const OBFUSCATION = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];
