import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";

/** Questions and answers between a process and the one that supervises it. */
export interface Channel {
  /** Rejects with what the other threw, or when it does not answer in time or is gone. Without a limit it waits for ever. */
  ask(kind: string, content: unknown, limitMs?: number): Promise<unknown>;
  /** The other is gone: nobody will answer any more. */
  end(reason: Error): void;
}

/** One side's end of the pipe between two processes. */
interface Wire {
  send(message: object, sent: (error: Error | null) => void): unknown;
  on(event: "message", heard: (message: unknown) => void): unknown;
}

interface Message {
  id: string;
  /** Undefined in an answer. */
  kind?: string;
  content?: unknown;
  error?: { message: string; stack: string | undefined; hint: string | undefined };
}

type Answers = Readonly<Record<string, (content: never) => Promise<unknown>>>;

/** Answers what the other asks by these functions. What they throw is thrown over there, with its hint. */
export function channel(wire: Wire, answers: Answers): Channel {
  const asked = new Map<string, { answered(value: unknown): void; failed(error: Error): void }>();

  function send(message: Message): void {
    // When the other is gone, whoever waits for it hears that from `end`.
    wire.send(message, () => {});
  }

  async function answer({ id, kind = "", content }: Message): Promise<void> {
    try {
      send({ id, content: await answers[kind]?.(content as never) });
    } catch (error) {
      const { message, stack, hint } = error as Error & { hint?: string };
      send({ id, error: { message, stack, hint } });
    }
  }

  wire.on("message", (given) => {
    const message = given as Message;
    if (message.kind !== undefined) return void answer(message);
    const waiting = asked.get(message.id);
    if (message.error) waiting?.failed(thrownThere(message.error));
    else waiting?.answered(message.content);
  });

  return {
    ask(kind, content, limitMs) {
      const id = randomUUID();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const timer = limitMs && setTimeout(() => reject(new Error(`no answer to ${kind} in ${limitMs} ms`)), limitMs);
      asked.set(id, { answered: resolve, failed: reject });
      send({ id, kind, content });
      return promise.finally(() => {
        if (timer) clearTimeout(timer);
        asked.delete(id);
      });
    },
    end(reason) {
      for (const { failed } of [...asked.values()]) failed(reason);
    },
  };
}

function thrownThere({ message, stack, hint }: NonNullable<Message["error"]>): Error {
  return Object.assign(new Error(message), { ...(stack && { stack }), ...(hint !== undefined && { hint }) });
}

/** The log of a process, to where that of all goes. Whole lines only: what is left of one when its process is killed is dropped. */
export function forwardLines(stream: Readable, write: (lines: Uint8Array) => unknown): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.on("data", (part: Buffer) => {
    const end = part.lastIndexOf("\n") + 1;
    if (end > 0) write(Buffer.concat([rest, part.subarray(0, end)]));
    rest = end > 0 ? part.subarray(end) : Buffer.concat([rest, part]);
  });
}
