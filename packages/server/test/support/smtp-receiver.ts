import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import type { SelfSigned } from "./self-signed.ts";

interface ReceivedMail {
  from: string;
  to: readonly string[];
  /** As it came: head and body. */
  source: string;
  /** The values of all headers of that name, unfolded; encoded words as they are. */
  values(name: string): string[];
  /** Decoded. */
  text: string;
}

export interface SmtpReceiver extends AsyncDisposable {
  /** `smtp://127.0.0.1:port`, or `smtps://`. */
  url: string;
  readonly mails: readonly ReceivedMail[];
  /** Connections that have been made so far, and those that are open now. */
  readonly connections: number;
  readonly openConnections: number;
  /** Closes all of them, as servers do with idle ones. */
  hangUp(): void;
}

export interface SmtpReceiverOptions {
  /** Speaks TLS from the first byte with it. */
  identity?: SelfSigned;
  /** Who may send; anybody without it. */
  login?: { user: string; password: string };
  /** Undefined takes the mail. */
  refuse?: (mail: ReceivedMail) => Error | undefined;
}

/** A real mail server on loopback that keeps what it gets. */
export async function smtpReceiver({ identity, login, refuse }: SmtpReceiverOptions = {}): Promise<SmtpReceiver> {
  const mails: ReceivedMail[] = [];
  let connections = 0;
  const server = new SMTPServer({
    ...(identity && { ...identity, secure: true }),
    disabledCommands: identity ? [] : ["STARTTLS"],
    authOptional: !login,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect(_session, done) {
      connections += 1;
      done();
    },
    onAuth({ username, password }, _session, done) {
      const known = username === login?.user && password === login?.password;
      if (known) done(null, { user: username });
      else done(new Error("who are you?"));
    },
    onData(stream, { envelope }, done) {
      const pieces: Buffer[] = [];
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("end", () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : "";
        const to = envelope.rcptTo.map(({ address }) => address);
        const mail = { from, to, ...read(Buffer.concat(pieces).toString("latin1")) };
        const refused = refuse?.(mail);
        if (!refused) mails.push(mail);
        done(refused ?? null);
      });
    },
  });
  // Senders that go away in mid-mail are what many tests are about.
  server.on("error", () => {});
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;

  return {
    url: `${identity ? "smtps" : "smtp"}://127.0.0.1:${port}`,
    mails,
    get connections() {
      return connections;
    },
    get openConnections() {
      return server.connections.size;
    },
    hangUp() {
      for (const connection of server.connections) connection.close();
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

function read(source: string): Pick<ReceivedMail, "source" | "values" | "text"> {
  const [head = "", ...rest] = source.split("\r\n\r\n");
  const headers = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  const values = (name: string): string[] =>
    headers
      .filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
      .map((line) => line.slice(name.length + 1).trim());
  return { source, values, text: decoded(rest.join("\r\n\r\n")) };
}

/** Quoted-printable, UTF-8. */
function decoded(body: string): string {
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8").replace(/\r\n$/, "").replaceAll("\r\n", "\n");
}
