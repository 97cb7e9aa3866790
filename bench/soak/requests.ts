import { setTimeout as pause } from "node:timers/promises";
import type { Book } from "./book.ts";
import type { Answer, Client } from "./client.ts";
import { type Expected, type Files, LARGEST_BYTES, type SoakFile, wrongAbout } from "./files.ts";
import type { Others } from "./others.ts";

/** A thing that a client does, from its first byte to the verdict. Answers `refused` for 503: try again later. */
type Outcome = "done" | "refused";

export interface Request {
  /** Whether its time is part of the p99: files of up to 16 KB, scanned while the client waits. */
  small: boolean;
  run(number: number): Promise<Outcome>;
}

export interface RequestParts {
  client: Client;
  files: Files;
  others: Others;
  book: Book;
  /** Objects in the bucket, by key. */
  objects: ReadonlyMap<string, Expected>;
}

export const BUCKET = "soak";
const KB = 1000;
const POLL_MS = 100;
const BOUNDARY = "a-boundary-of-the-soak";
/** So many clients poll at once at most; each has a trace_id of its own, which it uses again. */
const TRACES = 500;

/** How often each comes in a thousand. */
export const DECK = {
  smallUpload: 380,
  mediumUpload: 150,
  form: 80,
  archive: 80,
  largeUpload: 30,
  hugeUpload: 2,
  download: 40,
  object: 40,
  jobWithCallback: 120,
  jobPolled: 38,
  objectJob: 40,
} as const;

export function requests(parts: RequestParts): Record<keyof typeof DECK, Request> {
  const { client, files, others, book, objects } = parts;
  const keys = [...objects.keys()];
  const traces = Array.from({ length: TRACES }, (_, index) => `soak-${index}`);

  const upload = (least: number, most: number, small = false): Request => ({
    small,
    run: async (number) => {
      const file = files.make({ number, bytes: spread(number, least, most) });
      return judged(file.expected, await send(file), `upload ${number}`);
    },
  });
  const send = ({ parts }: SoakFile): Promise<Answer> =>
    client.ask({ path: "/api/v1/scan/sync/binary", contentType: "application/octet-stream", parts });

  function judged(expected: Expected, { status, said }: Answer, what: string): Outcome {
    if (status === 503) return "refused";
    const wrong = status === 200 ? wrongAbout(expected, said) : `answered with ${status}: ${JSON.stringify(said)}`;
    if (wrong) book.note(`${what}: ${wrong}`);
    return "done";
  }

  /** Submits, and waits for the end: whoever owes a result works until then. */
  async function job(expected: Expected, submit: (job: number) => Promise<Answer>): Promise<Outcome> {
    const { number, ended } = book.submitting(expected);
    const answer = await submit(number).catch((error) => {
      book.answered(number, "unanswered");
      throw error;
    });
    if (answer.status === 503) {
      book.answered(number, "refused");
      return "refused";
    }
    if (answer.status === 201 || answer.status === 204) book.answered(number, "acknowledged");
    else {
      book.answered(number, "refused");
      book.note(`job ${number} was answered with ${answer.status}: ${JSON.stringify(answer.said)}`);
      return "done";
    }
    await ended;
    return "done";
  }

  async function polled(file: SoakFile, trace: string): Promise<Outcome> {
    const { url, takeBack } = others.offer(file);
    let submitted: number | undefined;
    const outcome = job(file.expected, async (number) => {
      const answer = await client.askJson("/api/v1/scan/async/download", { download_url: url, trace_id: trace });
      if (answer.status === 201) submitted = number;
      // Begins when the answer is in the book.
      if (submitted !== undefined) setImmediate(() => void pollFor(number, trace));
      return answer;
    });
    return outcome.finally(takeBack);
  }

  async function pollFor(number: number, trace: string): Promise<void> {
    for (;;) {
      await pause(POLL_MS);
      const path = `/api/v1/scan/async/result?trace_id=${trace}`;
      const answer = await client.ask({ method: "GET", path }).catch(() => undefined);
      if (answer?.status === 200) return book.result(number, answer.said);
      if (answer && answer.status !== 404 && answer.status !== 503) {
        book.note(`a poll for job ${number} was answered with ${answer.status}`);
        return;
      }
    }
  }

  return {
    smallUpload: upload(KB, 16 * KB, true),
    mediumUpload: upload(32 * KB, 512 * KB),
    largeUpload: upload(1000 * KB, 5000 * KB),
    hugeUpload: upload(20_000 * KB, LARGEST_BYTES),
    archive: {
      small: true,
      run: async (number) => {
        const file = files.make({ number, bytes: spread(number, KB, 100 * KB), zipped: true });
        return judged(file.expected, await send(file), `archive ${number}`);
      },
    },
    form: {
      small: true,
      run: async (number) => {
        const file = files.make({ number, bytes: spread(number, KB, 16 * KB) });
        const contentType = `multipart/form-data; boundary=${BOUNDARY}`;
        const answer = await client.ask({ path: "/api/v1/scan/sync/form", contentType, parts: asForm(file.parts) });
        return judged(file.expected, answer, `form ${number}`);
      },
    },
    download: {
      small: false,
      run: async (number) => {
        const file = files.make({ number, bytes: spread(number, KB, 500 * KB) });
        const { url, takeBack } = others.offer(file);
        const answer = await client.askJson("/api/v1/scan/sync/download", { download_url: url }).finally(takeBack);
        return judged(file.expected, answer, `download ${number}`);
      },
    },
    object: {
      small: false,
      run: async (number) => {
        const key = keys[number % keys.length] ?? "";
        const answer = await client.askJson("/api/v1/scan/sync/objstore", { bucket: BUCKET, key });
        return judged(objects.get(key) as Expected, answer, `object ${key}`);
      },
    },
    jobWithCallback: {
      small: false,
      run: (number) => {
        const file = files.make({ number, bytes: spread(number, KB, number % 50 === 0 ? 5000 * KB : 200 * KB) });
        const { url, takeBack } = others.offer(file);
        const submit = (id: number): Promise<Answer> =>
          client.askJson("/api/v1/scan/async/download", { download_url: url, callback_url: others.callbackUrl(id) });
        return job(file.expected, submit).finally(takeBack);
      },
    },
    jobPolled: {
      small: false,
      run: async (number) => {
        const trace = traces.pop();
        // Everybody polls: as good as refused by the service, which has let them wait.
        if (trace === undefined) return "refused";
        const file = files.make({ number, bytes: spread(number, KB, 200 * KB) });
        return polled(file, trace).finally(() => traces.push(trace));
      },
    },
    objectJob: {
      small: false,
      run: (number) => {
        const key = keys[number % keys.length] ?? "";
        const submit = (id: number): Promise<Answer> =>
          client.askJson("/api/v1/scan/async/objstore", { bucket: BUCKET, key, callback_url: others.callbackUrl(id) });
        return job(objects.get(key) as Expected, submit);
      },
    },
  };
}

function asForm(parts: readonly Buffer[]): Buffer[] {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="file.txt"\r\n\r\n`;
  return [Buffer.from(head), ...parts, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)];
}

/** Sizes of every order between the two equally often, the same for the same number. */
function spread(number: number, least: number, most: number): number {
  const share = ((number * 7919) % 1009) / 1009;
  return Math.round(least * (most / least) ** share);
}
