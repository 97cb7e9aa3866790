export const PAD = 61;
export const NO_LETTER = 64;

/** The value of each byte as a letter of either alphabet; `NO_LETTER` if it is none. */
const VALUE = new Uint8Array(256).fill(NO_LETTER);
for (const [value, letter] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries())
  VALUE[letter.charCodeAt(0)] = value;
VALUE["-".charCodeAt(0)] = 62;
VALUE["_".charCodeAt(0)] = 63;

/** A table of the letters of both alphabets, for `Text.skip`. */
export const ALL_LETTERS: Uint8Array = VALUE.map((value) => (value === NO_LETTER ? 0 : 1));

export const base64Value = (byte: number): number => (byte < 0 ? NO_LETTER : (VALUE[byte] as number));

/** One of the two letters that only the alphabet for addresses has. */
export const isUrlSafe = (byte: number): boolean => byte === 45 || byte === 95;

/** Takes letters one by one and writes the bytes they mean. A pad ends a group of four, wherever it stands. */
export interface Base64Decoder {
  letter(value: number): void;
  /** Whether it stood where a pad belongs. */
  pad(): boolean;
  end(): void;
}

export function base64Decoder(write: (byte: number) => void): Base64Decoder {
  let bits = 0;
  let letters = 0;

  function end(): void {
    if (letters >= 2) write((letters === 2 ? bits >> 4 : bits >> 10) & 255);
    if (letters === 3) write((bits >> 2) & 255);
    letters = 0;
    bits = 0;
  }
  return {
    letter(value) {
      bits = (bits << 6) | value;
      letters += 1;
      if (letters < 4) return;
      write((bits >> 16) & 255);
      write((bits >> 8) & 255);
      write(bits & 255);
      letters = 0;
      bits = 0;
    },
    pad() {
      if (letters < 2) return false;
      end();
      return true;
    },
    end,
  };
}
