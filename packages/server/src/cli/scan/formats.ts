import { version } from "../../version.ts";
import { coloured, printable } from "../terminal/output.ts";
import type { Tally } from "../terminal/progress.ts";
import type { Scanned } from "./scan-all.ts";

/** How results are written to stdout. */
export interface Format {
  /** Without the line break. */
  line(name: string, scanned: Scanned): string;
  /** Written at the end; empty when the summary is no data, and goes to stderr. */
  end(pass: Pass): string;
}

interface Pass {
  tally: Tally;
  folders: number;
  seconds: number;
}

export const formats = { text: text(), json: json(), clamscan: clamscan() } as const;

/** `infected  uploads/bad.txt  EICAR_Test_File` */
function text(): Format {
  return {
    line(name, { status, finding, member, message }) {
      const more = member ? `in ${member}` : message;
      const why = [finding, more && `(${more})`].filter(Boolean).join(" ");
      return `${coloured(status, status.padEnd(8))}  ${printable(name)}${why === "" ? "" : `  ${printable(why)}`}`;
    },
    end: () => "",
  };
}

/** A line of JSON for each file. */
function json(): Format {
  return {
    line(name, { status, finding, member, size, realfiletype, message }) {
      return JSON.stringify({ path: name, status, finding, member, size, realfiletype, message });
    },
    end: () => "",
  };
}

/** As clamscan writes it, for scripts that read that. What could not be scanned is an error there too. */
function clamscan(): Format {
  return {
    line(name, { status, finding = "unknown", message }) {
      const shown = name === "-" ? "stdin" : printable(name);
      if (status === "clean") return `${shown}: OK`;
      if (status === "infected") return `${shown}: ${printable(finding)} FOUND`;
      return `${shown}: ${printable(message ? `${finding}: ${message}` : finding)} ERROR`;
    },
    end({ tally, folders, seconds }) {
      const megabytes = (tally.bytes / 1024 ** 2).toFixed(2);
      const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
      return [
        "",
        "----------- SCAN SUMMARY -----------",
        `Engine version: lazaret ${version}`,
        `Scanned directories: ${folders}`,
        `Scanned files: ${tally.files - tally.notScanned}`,
        `Infected files: ${tally.infected}`,
        ...(tally.notScanned > 0 ? [`Total errors: ${tally.notScanned}`] : []),
        `Data scanned: ${megabytes} MB`,
        `Time: ${seconds.toFixed(3)} sec (${minutes} m ${rest} s)`,
        "",
      ].join("\n");
    },
  };
}
