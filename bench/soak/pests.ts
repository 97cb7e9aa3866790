import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Book } from "./book.ts";
import { API_KEY, type Client } from "./client.ts";
import { type Files, wrongAbout } from "./files.ts";
import type { Others } from "./others.ts";

/** Clients as no service wants them, and has them. All of them go on until the end. */
export interface Pests {
  /** Idle connections that are open now. */
  readonly idle: number;
  /** How often each did what it does. */
  readonly counts: Readonly<Record<string, number>>;
  /** Ends all. */
  stop(): Promise<void>;
}

export interface PestParts {
  client: Client;
  files: Files;
  others: Others;
  book: Book;
  /** Connections that are held open and say nothing. */
  idle: number;
}

const UPLOAD = `POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer ${API_KEY}\r\nContent-Type: application/octet-stream\r\n`;
const MEGABYTE = Buffer.alloc(1_000_000, "a text that is never sent whole ");
/** Between connections that are opened, so that not all of them come at once. */
const OPEN_GAP_MS = 5;
/** The service ends what is too slow within a minute; here it has a little more. */
const ENDED_WITHIN_MS = 75_000;

export function pests({ client, files, others, book, idle }: PestParts): Pests {
  const stopping = new AbortController();
  const { signal } = stopping;
  const counts: Record<string, number> = {};
  const sockets = new Set<Socket>();
  let idleNow = 0;
  let number = 1_000_000_000;

  function open(): Socket {
    const socket = connect({ host: "127.0.0.1", port: client.port, noDelay: true });
    sockets.add(socket);
    // Most of these end badly, as they should.
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    return socket;
  }

  /** Resolves when the server has closed it; a server that never does is a finding. */
  function closed(socket: Socket, what: string, withinMs = ENDED_WITHIN_MS): Promise<void> {
    return new Promise((resolve) => {
      if (socket.closed) {
        resolve();
        return;
      }
      const timer = setTimeout(() => {
        book.note(`${what} was not ended within ${withinMs / 1000} seconds`);
        socket.destroy();
      }, withinMs);
      socket.resume().once("close", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Does the same over and over, with a pause. */
  async function again(name: string, everyMs: number, act: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      counts[name] = (counts[name] ?? 0) + 1;
      await act();
      await pause(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One byte after the other, and never all. */
  async function dribble(): Promise<void> {
    const socket = open();
    socket.write(`${UPLOAD}Content-Length: 1000000\r\n\r\n`);
    const timer = setInterval(() => socket.write("x"), 500);
    await closed(socket, "an upload of two bytes a second");
    clearInterval(timer);
  }

  async function halfHead(): Promise<void> {
    const socket = open();
    socket.write(UPLOAD);
    await closed(socket, "half a request");
  }

  async function breakOff(): Promise<void> {
    const socket = open();
    socket.write(`${UPLOAD}Content-Length: 2000000\r\n\r\n`);
    await new Promise<void>((resolve) => void socket.write(MEGABYTE, () => resolve()));
    if (Math.random() < 0.5) socket.resetAndDestroy();
    else socket.destroy();
  }

  async function wrongKey(): Promise<void> {
    const path = "/api/v1/scan/sync/binary";
    const question = { path, contentType: "application/octet-stream", parts: [Buffer.from("file")], key: "not-a-key" };
    const answer = await client.ask(question).catch(() => undefined);
    if (answer && answer.status !== 401 && answer.status !== 429) {
      book.note(`a wrong key was answered with ${answer.status}`);
    }
  }

  async function nonsense(): Promise<void> {
    const socket = open();
    socket.write("\u0016\u0003\u0001 NOT HTTP AT ALL\r\n\r\n");
    await closed(socket, "what is not HTTP");
  }

  /** Hangs up before the answer: nobody knows whether the job was accepted, and it must not come to an end twice. */
  async function hangUp(): Promise<void> {
    number += 1;
    const file = files.make({ number, bytes: 2000 });
    const { url, takeBack } = others.offer(file);
    const job = book.submitting(file.expected);
    book.answered(job.number, "unanswered");
    // Of one that was not accepted nobody knows that; its file stays.
    void job.ended.then(takeBack);
    const body = JSON.stringify({ download_url: url, callback_url: others.callbackUrl(job.number) });
    const socket = open();
    const head = `POST /api/v1/scan/async/download HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer ${API_KEY}\r\nContent-Type: application/json\r\n`;
    await new Promise<void>((resolve) =>
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, () => resolve()),
    );
    socket.destroy();
  }

  /** Slow, but honest: has its verdict like everybody else. */
  async function slowly(): Promise<void> {
    number += 1;
    const { parts, expected } = files.make({ number, bytes: 20_000 });
    const content = Buffer.concat(parts);
    const socket = open();
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
    });
    socket.write(`${UPLOAD}Connection: close\r\nContent-Length: ${content.length}\r\n\r\n`);
    for (let at = 0; at < content.length && !signal.aborted; at += 1000) {
      socket.write(content.subarray(at, at + 1000));
      await pause(250, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return;
    await closed(socket, "a slow upload that is whole");
    const wrong = text.startsWith("HTTP/1.1 503 ") ? undefined : wrongAbout(expected, jsonIn(text));
    if (wrong && !signal.aborted) book.note(`a slow upload: ${wrong}`);
  }

  /** Half of them never say a word, the others have been answered once. Whoever is closed comes again. */
  async function beIdle(index: number): Promise<void> {
    await pause(index * OPEN_GAP_MS, undefined, { signal }).catch(() => undefined);
    while (!signal.aborted) {
      counts.idle = (counts.idle ?? 0) + 1;
      const socket = open();
      idleNow += 1;
      if (index % 2 === 0) socket.write("GET /healthz HTTP/1.1\r\nHost: soak\r\n\r\n");
      await new Promise((resolve) => socket.resume().once("close", resolve));
      idleNow -= 1;
      await pause(OPEN_GAP_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  const many = (count: number, begin: (index: number) => Promise<void>): Promise<void>[] =>
    Array.from({ length: count }, (_, index) => begin(index));
  const all = [
    ...many(10, () => again("slow and never whole", 500, dribble)),
    ...many(5, () => again("half a request", 500, halfHead)),
    ...many(4, () => again("slow but whole", 500, slowly)),
    again("broken off", 300, breakOff),
    again("wrong key", 500, wrongKey),
    again("not HTTP", 1000, nonsense),
    again("hung up", 1000, hangUp),
    ...many(idle, beIdle),
  ];
  return {
    counts,
    get idle() {
      return idleNow;
    },
    async stop() {
      stopping.abort();
      for (const socket of sockets) socket.destroy();
      await Promise.all(all);
    },
  };
}

function jsonIn(answer: string): unknown {
  try {
    return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
  } catch {
    return answer.slice(0, 200);
  }
}
