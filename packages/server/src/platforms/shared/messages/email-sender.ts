import { hash } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { SendMailOptions } from "nodemailer";
import { emailSubject, emailText } from "../finding-text.ts";
import { SEND_SECONDS } from "./outbox.ts";
import { failedWith, type Sender, type SendOutcome } from "./sender.ts";
import type { MailSettings } from "./subscriptions.ts";

export interface EmailSenderOptions extends MailSettings {
  to: string;
  timeoutMs?: number;
}

const AT_ONCE = 2;

/** A finding as an email for people. Connections to the mail server are kept for the next ones. */
export function emailSender({ smtpUrl, from, to, timeoutMs = SEND_SECONDS * 1000 }: EmailSenderOptions): Sender {
  const domain = from.replace(/^.*@|>$/g, "");
  let server: MailServer | undefined;

  function drop(): void {
    server?.close();
    server = undefined;
  }

  return {
    atOnce: AT_ONCE,
    async send({ message: { id, body } }, signal) {
      const message = JSON.parse(body);
      const given = Promise.withResolvers<SendOutcome>();
      // A mail can be given up only with its connection. Who sends next gets a new one.
      const giveUp = (): void => {
        drop();
        given.resolve({ kind: "failed", code: "ETIMEDOUT" });
      };
      const timer = setTimeout(giveUp, timeoutMs);
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        signal.throwIfAborted();
        server ??= mailServer(smtpUrl, AT_ONCE);
        const sent = server.send({
          from,
          to,
          subject: emailSubject(message),
          text: emailText(message),
          textEncoding: "quoted-printable",
          messageId: `<${fitForHeader(id)}@${domain}>`,
          headers: { "Auto-Submitted": "auto-generated" },
        });
        return await Promise.race([sent.then((): SendOutcome => ({ kind: "sent" }), failedWith), given.promise]);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      }
    },
    async close() {
      drop();
    },
  };
}

/** Our ids as they are; any other by its digest. */
function fitForHeader(id: string): string {
  return /^[\w.-]{1,200}$/.test(id) ? id : hash("sha256", id);
}

/** Connections to the mail server that an address names, which are used again. */
interface MailServer {
  /** Resolves when the server has taken the mail. Throws nodemailer's errors. */
  send(mail: SendMailOptions): Promise<void>;
  /** Drops all connections at once; mails under way fail. */
  close(): void;
}

type Dialled = (error: Error | null, socket?: { connection: Socket }) => void;

const CONNECT_MS = 15_000;
const IDLE_MS = 30_000;
/** nodemailer's, when the address names none. */
const PORT = 587;
const TLS_PORT = 465;

/** nodemailer is loaded by the first mail. */
function mailServer(smtpUrl: string, connections: number): MailServer {
  const { hostname, port, protocol } = new URL(smtpUrl);
  const address = {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port) || (protocol === "smtps:" ? TLS_PORT : PORT),
  };
  const sockets = new Set<Socket>();
  let closed = false;

  /** Dialled here, as nodemailer does not close a connection in mid-mail. It does the rest, TLS included. */
  function dial(_options: unknown, done: Dialled): void {
    if (closed) {
      done(dropped());
      return;
    }
    const socket = connect({ ...address, autoSelectFamily: true, noDelay: true });
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    const failed = (error: Error): void => done(error);
    socket.once("error", failed);
    socket.once("connect", () => {
      socket.off("error", failed);
      // nodemailer listens too, but not always.
      socket.on("error", () => {});
      done(null, { connection: socket });
    });
  }

  const loaded = import("nodemailer").then(({ createTransport }) =>
    createTransport({
      url: smtpUrl,
      pool: true,
      maxConnections: connections,
      // For a kept connection that the server has closed meanwhile. All other retries are the outbox's.
      maxRequeues: 1,
      idleTimeout: IDLE_MS,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      getSocket: dial,
      disableFileAccess: true,
      disableUrlAccess: true,
    }),
  );

  return {
    async send(mail) {
      await (await loaded).sendMail(mail);
    },
    close() {
      closed = true;
      for (const socket of sockets) socket.destroy(dropped());
      void loaded.then(
        (transport) => transport.close(),
        () => {},
      );
    },
  };
}

function dropped(): Error {
  return Object.assign(new Error("the connection to the mail server was dropped"), { code: "ECONNRESET" });
}
