import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** What goes wrong with one request. */
export type Fault =
  /** The service answers so, as AWS does; it never sees the request. */
  | { kind: "refused"; status: number; code: string }
  /** The connection breaks before the service sees the request. */
  | { kind: "cut" }
  /** The service does what it was asked, and the connection breaks before its answer arrives. */
  | { kind: "answer lost" }
  /** The service takes all entries of a batch but the first, and says so; or does not even say so. */
  | { kind: "entry refused"; code?: string }
  /** Nothing ever comes back; the service never sees the request. */
  | { kind: "silent" };

export interface FaultyProxy extends AsyncDisposable {
  endpoint: string;
  /** Asked for each request, by the operation's name, such as SendMessageBatch. Undefined lets it pass. */
  fault: (operation: string, body: string) => Fault | undefined;
  /** Operations in the order in which they came. */
  readonly asked: readonly string[];
  /** Names of the secrets that were read. */
  readonly secretsRead: readonly string[];
}

/** Stands between a client of AWS and its endpoint. */
export async function faultyProxy(upstream: string): Promise<FaultyProxy> {
  // Connections that are kept may be closed by the other side just when they are needed.
  const agent = new Agent({ keepAlive: false });
  const sockets = new Set<Socket>();
  const asked: string[] = [];
  const secretsRead: string[] = [];
  const server = createServer((incoming, response) => {
    // A client that gave up, or a service that was stopped: that is no answer, either.
    void handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    // Read whole before anything else: a stand-in that loses a request halfway ends with its process.
    const body = Buffer.concat(await Array.fromAsync(incoming));
    const operation = String(incoming.headers["x-amz-target"]).split(".").at(-1) ?? "";
    asked.push(operation);
    if (operation === "GetSecretValue") secretsRead.push(JSON.parse(body.toString()).SecretId);
    const fault = proxy.fault(operation, body.toString());
    if (fault?.kind === "silent") return;
    if (fault?.kind === "cut") return void incoming.socket.destroy();
    if (fault?.kind === "refused") return refuse(response, fault);
    if (fault?.kind === "entry refused") return answerBatch(incoming, response, { body, code: fault.code });
    const { status, headers, answer } = await forward(incoming, body);
    if (fault) return void incoming.socket.destroy();
    response.writeHead(status, headers).end(answer);
  }

  async function answerBatch(
    incoming: IncomingMessage,
    response: ServerResponse,
    { body, code }: { body: Buffer; code: string | undefined },
  ): Promise<void> {
    const { Entries, ...batch } = JSON.parse(body.toString());
    const [refused, ...rest] = Entries;
    const left = Buffer.from(JSON.stringify({ ...batch, Entries: rest }));
    const { answer } = rest.length > 0 ? await forward(incoming, left) : { answer: '{"Successful": []}' };
    const failed = { Id: refused.Id, Code: code, SenderFault: false, Message: "refused by the proxy" };
    const answered = JSON.parse(answer.toString());
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" });
    response.end(JSON.stringify({ ...answered, Failed: code === undefined ? [] : [failed] }));
  }

  async function forward(
    { method, url, headers }: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage["headers"]; answer: Buffer }> {
    const { host: _, connection: __, ...kept } = { ...headers, "content-length": String(body.length) };
    const outgoing = request(new URL(url ?? "/", upstream), { method, headers: kept, agent });
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    const { connection: ___, "transfer-encoding": ____, ...answered } = incoming.headers;
    const answer = Buffer.concat(await Array.fromAsync(incoming));
    return { status: incoming.statusCode ?? 0, headers: answered, answer };
  }

  const proxy: FaultyProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: () => undefined,
    asked,
    secretsRead,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
      agent.destroy();
    },
  };
  return proxy;
}

/** As the JSON protocols of SQS and DynamoDB have it. */
function refuse(response: ServerResponse, { status, code }: { status: number; code: string }): void {
  const body = JSON.stringify({ __type: `com.amazonaws#${code}`, message: "refused by the proxy" });
  response.writeHead(status, { "content-type": "application/x-amz-json-1.0", "x-amzn-errortype": code }).end(body);
}
