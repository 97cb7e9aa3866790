import { listening } from "../listening.ts";

/** Where the jobs' files come from and their callbacks go to. */
export interface JobUrls {
  fileUrl: string;
  callbackUrl: string;
}

export interface Loopback extends JobUrls {
  /** Starts counting anew; resolves when a callback came for each of so many jobs. */
  callbacks(jobs: number): Promise<void>;
  /** Called at each first callback of a job, with how many came so far. */
  onCallback: (count: number) => void;
  /** Callbacks that came again, since the count was started. */
  readonly repeated: number;
  /** Callbacks with a signature, since then. */
  readonly signed: number;
  close(): Promise<void>;
}

const LIMIT_MS = 1_800_000;

export async function loopback(file: Buffer): Promise<Loopback> {
  const jobs = new Set<string>();
  let wanted = Number.POSITIVE_INFINITY;
  let arrived = (): void => {};
  let repeated = 0;
  let signed = 0;

  const files = await listening((_, response) => {
    response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": file.length });
    response.end(file);
  });
  const receiver = await listening((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    request.on("end", () => {
      const { status, custom_data } = JSON.parse(text);
      if (status !== "clean") throw new Error(`a clean file was called ${status}`);
      response.writeHead(204).end();
      if (request.headers["x-signature"] !== undefined) signed += 1;
      if (jobs.has(custom_data)) repeated += 1;
      else {
        jobs.add(custom_data);
        self.onCallback(jobs.size);
      }
      if (jobs.size === wanted) arrived();
    });
  });

  const self: Loopback = {
    fileUrl: `${files.origin}/file`,
    callbackUrl: `${receiver.origin}/callback`,
    onCallback: () => {},
    get repeated() {
      return repeated;
    },
    get signed() {
      return signed;
    },
    callbacks(count) {
      jobs.clear();
      repeated = 0;
      signed = 0;
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
  return self;
}
