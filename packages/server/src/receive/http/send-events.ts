import type { ServerResponse } from "node:http";
import type { Answer } from "../request-answer.ts";
import type { SendOptions } from "./send-answer.ts";

/** So much may wait for a client, beside what the system keeps for it. Meanwhile no more texts are taken. */
const MOST_UNREAD_BYTES = 256 * 1024;

export interface LiveStream {
  /** No more is sent, and the client comes again, here or elsewhere. */
  end(): void;
  /** The stream has ended, whoever ended it. Never rejects. */
  over: Promise<void>;
}

/** Sends texts as they come. They have no end that is known before, so the connection ends with them. */
export function sendEvents(
  response: ServerResponse,
  { status, headers, events }: Answer & { events: NonNullable<Answer["events"]> },
  { requestId, timings: { unreadMs } }: Pick<SendOptions, "requestId" | "timings">,
): LiveStream {
  response.writeHead(status, {
    "X-Request-Id": requestId,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Type": "text/event-stream; charset=utf-8",
    // A proxy that gathers what it passes on would hold back what happens now.
    "X-Accel-Buffering": "no",
    Connection: "close",
    ...headers,
  });
  response.flushHeaders();
  const texts = events[Symbol.asyncIterator]();
  let ended = false;
  let wake = (): void => {};
  const end = (): void => {
    ended = true;
    wake();
  };
  response.once("close", end);

  /** Undefined when it was ended meanwhile. Not by a race with one promise for all, which would remember every text. */
  function nextText(): Promise<IteratorResult<string> | undefined> {
    return new Promise((resolve, reject) => {
      wake = () => resolve(undefined);
      texts.next().then(resolve, reject);
    });
  }

  /** A burst takes its time over a slow line: only who has not read it in so long does not read. */
  function isRead(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, unreadMs, false);
      const read = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      wake = read;
      response.once("drain", read);
    });
  }

  async function send(): Promise<void> {
    while (!ended) {
      const next = await nextText();
      if (!next || next.done || ended) break;
      response.write(next.value);
      if (response.writableLength <= MOST_UNREAD_BYTES || (await isRead())) continue;
      response.destroy();
      break;
    }
  }

  const over = send()
    .catch(() => void response.destroy())
    .then(() => {
      // Not waited for: whoever makes the texts may be waiting for the next one to happen.
      texts.return?.().then(undefined, () => {});
      response.end();
    });
  return { end, over };
}
