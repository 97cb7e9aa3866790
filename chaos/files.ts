import type { RequestListener } from "node:http";
import type { ScanResult } from "../packages/contract/src/index.ts";
import { deflated, encrypted, zip } from "../packages/server/test/fixtures/zip-writer.ts";
import { eicar } from "../packages/server/test/support/eicar.ts";
import { httpServer } from "../packages/server/test/support/loopback-server.ts";
import { KILLER } from "./killer.ts";

/** A file of which is known what must be said. */
interface Sample {
  name: FileName;
  weight: number;
  /** Undefined when there is none under its URL: 404. */
  bytes: Buffer | undefined;
  status: ScanResult["status"];
  finding: string | undefined;
}

export type FileName = "small" | "large" | "eicar" | "zipped" | "locked" | "missing" | "killer";

/** How it is served: whole, in two halves with a pause, or only when it is asked for again after a 503. */
export type Manner = "whole" | "halves" | "late";

export const manners: readonly (readonly [Manner, number])[] = [
  ["whole", 93],
  ["halves", 5],
  ["late", 2],
];

const KB = 1024;
const HALVES_MS = 400;
const EICAR = "Eicar-Test-Signature";

export const samples: readonly Sample[] = [
  { name: "small", weight: 40, bytes: noise(4 * KB), status: "clean", finding: undefined },
  { name: "large", weight: 10, bytes: noise(300 * KB), status: "clean", finding: undefined },
  { name: "eicar", weight: 20, bytes: eicar(), status: "infected", finding: EICAR },
  { name: "zipped", weight: 10, bytes: zip([deflated("a.com", eicar())]), status: "infected", finding: EICAR },
  {
    name: "locked",
    weight: 10,
    bytes: zip([encrypted("a.com", eicar(), "secret")]),
    status: "no",
    finding: "Heuristics.Encrypted.Zip",
  },
  // No verdict of it is ever right: it ends whoever asks for one.
  { name: "killer", weight: 0, bytes: Buffer.concat([KILLER, noise(KB)]), status: "no", finding: "none at all" },
  { name: "missing", weight: 10, bytes: undefined, status: "no", finding: "scanner:download-failed" },
];

const byName = new Map(samples.map((sample) => [sample.name, sample]));

export function sampleOf(name: FileName): Sample {
  const sample = byName.get(name);
  if (!sample) throw new Error(`there is no sample ${name}`);
  return sample;
}

export interface Files extends AsyncDisposable {
  urlOf(job: { traceId: string; file: FileName; manner: Manner }): string;
}

/** Serves the samples; tells of each file that is asked for, a 503 not counted. */
export async function fileServer(asked: (traceId: string) => void): Promise<Files> {
  const late = new Set<string>();
  const answer: RequestListener = (request, response) => {
    const [, name = "", manner, traceId = ""] = request.url?.split("/") ?? [];
    if (manner === "late" && !late.has(traceId)) {
      late.add(traceId);
      response.writeHead(503).end();
      return;
    }
    asked(traceId);
    const { bytes } = sampleOf(name as FileName);
    if (!bytes) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-length": bytes.length });
    if (manner !== "halves") {
      response.end(bytes);
      return;
    }
    const half = Math.floor(bytes.length / 2);
    response.write(bytes.subarray(0, half));
    const timer = setTimeout(() => response.end(bytes.subarray(half)), HALVES_MS);
    response.once("close", () => clearTimeout(timer));
  };
  const server = await httpServer(answer);
  return {
    urlOf: ({ traceId, file, manner }) => `http://127.0.0.1:${server.port}/${file}/${manner}/${traceId}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The same in every run, and nothing that a signature or a file type fits. */
function noise(bytes: number): Buffer {
  let state = 0x2545f491;
  return Buffer.from(
    Array.from({ length: bytes }, () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state & 0xff;
    }),
  );
}
