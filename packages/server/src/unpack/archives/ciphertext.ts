import type { Blob } from "../blob.ts";
import { anyPattern, byteAt } from "../byte-pattern.ts";
import type { Opener } from "../opener.ts";
import { headOf } from "../signature-search.ts";

export const CIPHERTEXT = "ciphertext";

/**
 * Encrypted files of programs that say so at the beginning: OpenSSL, KeePass, Password Safe, AES Crypt, AxCrypt, git-crypt, Vim,
 * scrypt, rclone, rights management of Outlook.
 */
const BINARY = [
  "'Salted__' ..*24",
  "03 d9 a2 9a 65-67 fb 4b b5",
  "'PWS3' ..*32",
  "'AES' 01-03 00",
  "'AES' 00 00-0f ..*48",
  "c0 b9 07 2e 4f 93 f1 46 a0 15 79 2c a1 d9 e8 21",
  "00 'GITCRYPT' 00",
  "'VimCrypt~0' 31-33 '!'",
  "'scrypt' 00 00-3f",
  "'RCLONE' 00 00",
  "76 e8 04 60 c4 11 e3 86",
];
const isBinary = anyPattern(BINARY, 0);

/** Files of age and ansible-vault begin with a text. An armored age file is a run of base64 with this text in it. */
const TEXT = ["'age-encryption.org/v' 31-39 0a '-> '", "'$ANSIBLE_VAULT;' 31-39"];
const isText = anyPattern(TEXT, 0);

/** An account of such a file, in words, is none: that is printable. */
function isCiphertext(content: Blob): boolean {
  const head = headOf(content).subarray(0, HEAD_BYTES);
  return isText(head) || (isBinary(head) && head.some((byte) => byte >= 0x7f || byte < 0x09));
}

const HEAD_BYTES = 256;

/** Known, and opened by nobody without a key. What stands openly in it is looked at all the same. */
export const ciphertext: Opener = {
  kind: CIPHERTEXT,
  knownBy: [byteAt(0, ...BINARY, ...TEXT)],
  find: (content) => (isCiphertext(content) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: () => ({ kind: "encrypted" }),
};
