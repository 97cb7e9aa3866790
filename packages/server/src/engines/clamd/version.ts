import { connect } from "node:net";
import { EngineUnavailable } from "../../model/faults.ts";
import { type ClamdAddress, connectOptions, describeAddress } from "./address.ts";

export interface ClamdVersion {
  /** `ClamAV 1.4.6` */
  product: string;
  /** Of the official database; missing when clamd has only signatures of somebody else's. */
  signatures?: { number: string; builtAt: number };
}

export function isSameVersion(one: ClamdVersion | undefined, other: ClamdVersion | undefined): boolean {
  const [ones, others] = [one?.signatures, other?.signatures];
  return one?.product === other?.product && ones?.number === others?.number && ones?.builtAt === others?.builtAt;
}

const DAY_MS = 86_400_000;
const LONGEST_REPLY = 1024;

/**
 * `ClamAV 1.4.6/27500/Mon Nov  9 09:30:00 2026`, or without the database's part.
 * @internal tested by table
 */
export function readVersion(text: string): ClamdVersion | undefined {
  const parts = /^(ClamAV [^/\s]+)(?:\/(\d+)\/(.+))?$/.exec(text.trim());
  if (!parts?.[1]) return undefined;
  const product = parts[1];
  if (!parts[2] || !parts[3]) return { product };
  // clamd writes its local time without a zone; UTC is at most half a day off, which does not matter for days.
  const builtAt = Date.parse(`${parts[3]} UTC`);
  return Number.isNaN(builtAt) ? { product } : { product, signatures: { number: parts[2], builtAt } };
}

/** How old the signatures are, for people. Whether that is too old is for others to say. */
export function signatureWords({ signatures }: ClamdVersion, now: number): string {
  if (!signatures) return "signatures of unknown age (no official database loaded)";
  const days = Math.max(0, (now - signatures.builtAt) / DAY_MS);
  return `signatures ${signatures.number}, ${days.toFixed(1)} days old`;
}

export async function askVersion(address: ClamdAddress, timeoutMs: number, signal: AbortSignal): Promise<ClamdVersion> {
  const where = describeAddress(address);
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect({ ...connectOptions(address), signal });
    let received = "";
    const fail = (cause: Error): void => {
      socket.destroy();
      reject(new EngineUnavailable(`cannot reach clamd at ${where}`, { cause }));
    };
    socket.setEncoding("latin1");
    socket.setTimeout(timeoutMs, () => fail(new Error(`no answer within ${timeoutMs / 1000} s`)));
    socket.on("connect", () => socket.write("zVERSION\0"));
    socket.on("error", fail);
    socket.on("data", (part: string) => {
      received += part;
      if (!/[\0\n]/.test(received) && received.length < LONGEST_REPLY) return;
      socket.destroy();
      resolve(received.split(/[\0\n]/)[0] ?? "");
    });
    socket.on("close", () => fail(new Error("closed the connection without an answer")));
  });
  const version = readVersion(text);
  if (!version) throw new EngineUnavailable(`what listens at ${where} does not answer like clamd`);
  return version;
}
