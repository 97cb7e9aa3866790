import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What strace saw of one submit, in seconds since 1970. */
interface TracedSubmit {
  /** When the service had read the request. */
  requestAt: number;
  /** When it began to write the answer. */
  answerAt: number;
  /** When the last fsync or fdatasync between the two was done; undefined if there was none. */
  syncedAt: number | undefined;
}

export interface Traced {
  submits: TracedSubmit[];
  /** From the first request to the last answer. */
  syncs: number;
}

interface Call {
  name: string;
  fd: string;
  text: string;
  beganAt: number;
  endedAt: number;
}

const CALLS = "read,readv,recvmsg,recvfrom,write,writev,sendmsg,sendto,fsync,fdatasync";

/** Runs a program under strace, which writes one file for each of its threads. The program stays our own child. */
export function strace(folder: string, name: string): readonly string[] {
  const output = join(folder, `trace-${name}`);
  return ["strace", "-D", "-ff", "--seccomp-bpf", "-ttt", "-T", "-s", "64", "-e", `trace=${CALLS}`, "-o", output];
}

/** Reads what `strace` wrote into a folder, of all the programs that ran under it there. */
export function readTraces(folder: string): Traced {
  const calls = readdirSync(folder)
    .filter((name) => name.startsWith("trace-"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .flatMap((line) => readCall(line) ?? [])
    .sort((a, b) => a.beganAt - b.beganAt);
  const syncs = calls.filter(({ name }) => name.endsWith("sync")).map(({ endedAt }) => endedAt);
  const submits: TracedSubmit[] = [];
  const asked = new Map<string, number>();
  for (const { fd, text, beganAt, endedAt } of calls) {
    if (text.includes('"POST /')) asked.set(fd, endedAt);
    const requestAt = asked.get(fd);
    if (requestAt === undefined || !text.includes('"HTTP/1.1 204')) continue;
    asked.delete(fd);
    submits.push({ requestAt, answerAt: beganAt, syncedAt: syncs.findLast((at) => at > requestAt && at < beganAt) });
  }
  const first = submits[0]?.requestAt ?? 0;
  const last = submits.at(-1)?.answerAt ?? 0;
  return { submits, syncs: syncs.filter((at) => at >= first && at <= last).length };
}

/** Such as `1700000000.123456 fdatasync(23) = 0 <0.000321>`. */
function readCall(line: string): Call | undefined {
  const [, at, name = "", fd = "", text = "", seconds] =
    /^(\d+\.\d+) (\w+)\((\d+)(.*)\) += \d+ <([\d.]+)>$/.exec(line) ?? [];
  return at === undefined ? undefined : { name, fd, text, beganAt: Number(at), endedAt: Number(at) + Number(seconds) };
}
