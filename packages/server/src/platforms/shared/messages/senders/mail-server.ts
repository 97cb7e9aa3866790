import { connect, type Socket } from "node:net";
import type { SendMailOptions } from "nodemailer";

/** Connections to the mail server that an address names, which are used again. */
export interface MailServer {
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
export function mailServer(smtpUrl: string, connections: number): MailServer {
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
