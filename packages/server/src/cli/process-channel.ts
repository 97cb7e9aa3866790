import type { Socket } from "node:net";
import type { Readable } from "node:stream";

/** Questions and answers between a process and the one that supervises it. */
export interface Channel {
  /** Rejects with what the other threw, or when it does not answer in time or is gone. Without a limit it waits for ever. */
  ask(kind: string, content: unknown, limitMs?: number): Promise<unknown>;
  /** Asks with a connection, for the other to have. It stays open here. */
  hand(kind: string, content: unknown, socket: Socket): Promise<unknown>;
  /** The other is gone: nobody will answer any more. */
  end(reason: Error): void;
}

/** One side's end of the pipe between two processes. */
interface Wire {
  send(
    message: object,
    socket: Socket | undefined,
    options: { keepOpen: boolean },
    sent: (error: Error | null) => void,
  ): unknown;
  on(event: "message", heard: (message: unknown, socket?: unknown) => void): unknown;
}

interface Message {
  /** Of the question, among those of the side that asked. */
  id: number;
  /** Undefined in an answer. */
  kind?: string;
  content?: unknown;
  error?: Thrown;
}

/** What is told of an error. */
interface Thrown {
  message: string;
  stack: string | undefined;
  /** Of one of the system's. */
  code: string | undefined;
  syscall: string | undefined;
  hint: string | undefined;
  passes: boolean | undefined;
}

/** The connection is undefined when it was closed on its way. */
type Answers = Readonly<Record<string, (content: never, socket: Socket | undefined) => Promise<unknown>>>;

/** Answers what the other asks by these functions. What they throw is thrown over there, with its hint. */
export function channel(wire: Wire, answers: Answers): Channel {
  const asked = new Map<number, { answered(value: unknown): void; failed(error: Error): void }>();
  let ended: Error | undefined;
  let questions = 0;

  function send(message: Message, socket?: Socket): void {
    // When the other is gone, whoever waits for it hears that from `end`.
    wire.send(message, socket, { keepOpen: true }, () => {});
  }

  async function answer({ id, kind = "", content }: Message, socket: Socket | undefined): Promise<void> {
    try {
      send({ id, content: await answers[kind]?.(content as never, socket) });
    } catch (error) {
      const { message, stack, code, syscall, hint, passes } = error as Thrown;
      send({ id, error: { message, stack, code, syscall, hint, passes } });
    }
  }

  wire.on("message", (given, socket) => {
    const message = given as Message;
    if (message.kind !== undefined) return void answer(message, socket as Socket | undefined);
    const waiting = asked.get(message.id);
    if (message.error) waiting?.failed(thrownThere(message.error));
    else waiting?.answered(message.content);
  });

  function ask(kind: string, content: unknown, limitMs?: number, socket?: Socket): Promise<unknown> {
    if (ended) return Promise.reject(ended);
    questions += 1;
    const id = questions;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = limitMs && setTimeout(() => reject(new Error(`no answer to ${kind} in ${limitMs} ms`)), limitMs);
    asked.set(id, { answered: resolve, failed: reject });
    send({ id, kind, content }, socket);
    return promise.finally(() => {
      if (timer) clearTimeout(timer);
      asked.delete(id);
    });
  }

  return {
    ask: (kind, content, limitMs) => ask(kind, content, limitMs),
    hand: (kind, content, socket) => ask(kind, content, undefined, socket),
    end(reason) {
      ended = reason;
      for (const { failed } of [...asked.values()]) failed(reason);
    },
  };
}

function thrownThere({ message, ...said }: Thrown): Error {
  const known = Object.entries(said).filter(([, value]) => value !== undefined);
  return Object.assign(new Error(message), Object.fromEntries(known));
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
