import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type BenchOptions, scansAt } from "./arguments.ts";
import { type LoadResult, run } from "./load.ts";
import { sendAll } from "./mix.ts";
import { shareInWords, watchNoise } from "./noise.ts";
import { ordinaryFiles } from "./ordinary/ordinary-files.ts";
import { peakMb } from "./processes.ts";
import { loopback } from "./queue/loopback.ts";
import { runJobs } from "./queue/measure-jobs.ts";
import { FILE_BYTES, JOBS_AT_ONCE } from "./queue/measure-queue.ts";
import { startLazaret } from "./queue/sides.ts";
import { submit } from "./queue/submits.ts";
import { alternate, type Contestant, costsOf } from "./rounds.ts";
import { sample } from "./sample.ts";
import { binary, pidOf, type Service, startServices } from "./services.ts";
import { head, rate, row } from "./table.ts";

const KB = 1024;
const SECONDS_PER_DAY = 86_400;
const A_DAY = 1_000_000;
const WAITING_JOBS = 5000;
const CONNECTIONS = 16;

interface Files {
  label: string;
  bytes: number;
  rounds: number;
  send(service: Service): Promise<LoadResult>;
}

interface Sized extends Contestant {
  service: Service;
}

/** What one core does in a second when it does nothing else. */
export function perCore(cpuMs: number): number {
  return 1000 / cpuMs;
}

/** Cores that are busy from midnight to midnight with so many files. */
export function coresFor(filesPerDay: number, cpuMs: number): number {
  return (filesPerDay * cpuMs) / 1000 / SECONDS_PER_DAY;
}

/**
 * How much machine is needed. Counted in CPU time of service and clamd, not by the clock: it is the same with 2 cores
 * and with 32, and hardly changes when others use the machine, too.
 */
export async function measureSizing({ folder, clamd, pace }: BenchOptions): Promise<void> {
  const mix = ordinaryFiles();
  const mixBytes = mix.reduce((sum, { content }) => sum + content.length, 0);
  const noise = watchNoise();
  const services = await startServices(join(folder, "sizing"), `unix:${clamd.socketPath}`);
  const files: Files[] = [
    ...[4 * KB, 100 * KB, 1024 * KB, 10 * 1024 * KB].map((bytes): Files => {
      const body = [sample(bytes)];
      const { rounds, forMs } = scansAt(pace, bytes);
      const send = ({ port }: Service) => run(binary(port, { body, connections: CONNECTIONS, forMs }));
      return { label: bytes < 1024 * KB ? `${bytes / KB} KB` : `${bytes / KB / KB} MB`, bytes, rounds, send };
    }),
    {
      label: `${mix.length} ordinary files, ${Math.round(mixBytes / mix.length / 1000)} KB each`,
      bytes: mixBytes / mix.length,
      rounds: pace.rounds,
      send: (service) => sendAll(service, mix, { connections: CONNECTIONS, passes: 1 }),
    },
  ];
  try {
    const contestants = Object.entries(services).map(([name, service]): Contestant & { service: Service } => ({
      name,
      pids: [pidOf(service.measured)],
      service,
    }));
    for (const { service } of contestants) for (const { send } of files) await send(service);
    const costs = ["service ms/file", "clamd ms/file", "files/s per core", "MB/s per core"];
    console.log(`\n${head("files", "engine", ...costs, "cores for a million a day")}`);
    for (const { label, bytes, rounds: count, send } of files) {
      const work = ({ service }: Sized) => send(service);
      const rounds = await alternate(contestants, { rounds: count, clamdPid: clamd.pid, work });
      for (const { name } of contestants) {
        const { cpuMs, clamdMs } = costsOf(rounds, name);
        const perSecond = perCore(cpuMs + clamdMs);
        const cells = [cpuMs.toFixed(2), clamdMs.toFixed(2), rate(perSecond), rate((perSecond * bytes) / 1e6)];
        console.log(row(label, name, ...cells, coresFor(A_DAY, cpuMs + clamdMs).toFixed(2)));
      }
    }
    console.log("");
    for (const { name, service } of contestants)
      console.log(`Memory of ${name} after this, at most: ${peakMb(pidOf(service.measured)).toFixed(0)} MB.`);
    console.log(`Memory of clamd, at most: ${peakMb(clamd.pid).toFixed(0)} MB.`);
  } finally {
    await Promise.all(Object.values(services).map(({ measured }) => measured.stop()));
  }
  await sizeJobs({ folder, clamd, pace });
  console.log(`\nMedians of ${pace.rounds} rounds. ${shareInWords(noise.share())}`);
}

/** What a job takes besides: submit, queue, download, callback; and on disk. */
async function sizeJobs({ folder, clamd, pace }: BenchOptions): Promise<void> {
  const net = await loopback(sample(FILE_BYTES));
  const options = (name: string) => ({ folder: join(folder, `sizing-${name}`), clamdSocket: clamd.socketPath });
  try {
    console.log(`\n${head("jobs of 4 KB, Q", "service ms/job", "clamd ms/job", "jobs/s per core")}`);
    for (const signed of [false, true]) {
      const side = await startLazaret({ ...options(`jobs-${signed}`), jobsAtOnce: JOBS_AT_ONCE, signed });
      const work = () => runJobs(side, net, { jobs: pace.signedJobs, signed });
      try {
        await work();
        const rounds = await alternate([side], { rounds: pace.rounds, clamdPid: clamd.pid, work });
        const { cpuMs, clamdMs } = costsOf(rounds, side.name);
        const cells = [cpuMs.toFixed(2), clamdMs.toFixed(2), rate(perCore(cpuMs + clamdMs))];
        console.log(row(signed ? "signed callbacks" : "unsigned callbacks", ...cells));
      } finally {
        await side.stop();
      }
    }
    const waiting = await startLazaret({ ...options("waiting"), jobsAtOnce: 0 });
    try {
      const before = folderBytes(options("waiting").folder);
      await submit(waiting, net, { connections: CONNECTIONS, atMost: WAITING_JOBS });
      const each = (folderBytes(options("waiting").folder) - before) / WAITING_JOBS;
      console.log(`\nA job that waits takes ${(each / KB).toFixed(2)} KB on disk.`);
    } finally {
      await waiting.stop();
    }
  } finally {
    await net.close();
  }
}

/** Without the database's log, which is written over again and again. */
function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.endsWith("-wal") && !name.endsWith("-shm"))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
