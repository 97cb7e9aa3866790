import { listening } from "./listening.ts";

/** Where the jobs' files come from and their callbacks go to. */
export interface Loopback {
  fileUrl: string;
  callbackUrl: string;
  /** Starts counting anew; resolves when a callback came for each of so many jobs. */
  callbacks(jobs: number): Promise<void>;
  /** Callbacks that came again, since the count was started. */
  readonly repeated: number;
  close(): Promise<void>;
}

const LIMIT_MS = 300_000;

export async function loopback(file: Buffer): Promise<Loopback> {
  const jobs = new Set<string>();
  let wanted = Number.POSITIVE_INFINITY;
  let arrived = (): void => {};
  let repeated = 0;

  const files = await listening((_, response) => {
    response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": file.length });
    response.end(file);
  });
  const receiver = await listening(async (request, response) => {
    const { status, custom_data } = JSON.parse((await request.setEncoding("utf8").toArray()).join(""));
    if (status !== "clean") throw new Error(`a clean file was called ${status}`);
    response.writeHead(204).end();
    if (jobs.has(custom_data)) repeated += 1;
    jobs.add(custom_data);
    if (jobs.size === wanted) arrived();
  });
  return {
    fileUrl: `${files.origin}/file`,
    callbackUrl: `${receiver.origin}/callback`,
    get repeated() {
      return repeated;
    },
    callbacks(count) {
      jobs.clear();
      repeated = 0;
      wanted = count;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${jobs.size} of ${count} callbacks came`)), LIMIT_MS);
        arrived = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    async close() {
      await Promise.all([files.close(), receiver.close()]);
    },
  };
}
