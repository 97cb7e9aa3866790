/** The last lines of a terminal, which are drawn again and again while other output goes on above them. */
export interface LiveArea {
  /** Draws these lines in place of the ones before; on anything but a terminal nothing is drawn. */
  draw(lines: readonly string[]): void;
  /** Writes something else above them. */
  above(write: () => void): void;
  /** Takes them away. */
  end(): void;
}

export type Terminal = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

const SMALLEST_WIDTH = 20;

export function liveArea(terminal: Terminal): LiveArea {
  let shown: readonly string[] = [];

  function erase(): void {
    if (shown.length > 0) terminal.write(`\r\x1b[2K${"\x1b[1A\x1b[2K".repeat(shown.length - 1)}`);
  }
  function show(): void {
    if (shown.length > 0) terminal.write(shown.join("\n"));
  }
  return {
    draw(lines) {
      if (!terminal.isTTY) return;
      erase();
      const columns = Math.max(SMALLEST_WIDTH, (terminal.columns || 80) - 1);
      shown = lines.map((line) => fitted(line, columns));
      show();
    },
    above(write) {
      erase();
      write();
      show();
    },
    end() {
      erase();
      shown = [];
    },
  };
}

/** As much of it as one line holds: a line that wraps could not be erased. */
function fitted(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += cells(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** From Hangul on characters may be two cells wide; one cell too much is better than a line that wraps. */
function cells(character: string): number {
  return (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
}
