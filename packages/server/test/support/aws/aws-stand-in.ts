import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { httpServer } from "../loopback-server.ts";
import { type S3Server, s3Server } from "../s3-server/s3-server.ts";
import { type DynamoDbServer, startDynamoDb } from "./dynamodb.ts";
import { type JsonServices, jsonServices } from "./json-services.ts";
import { type SqsServer, startSqs } from "./sqs.ts";

/** All services of AWS that we use behind one address, as AWS stand-ins have it. */
export interface AwsStandIn extends AsyncDisposable {
  endpoint: string;
  sqs: SqsServer;
  dynamodb: DynamoDbServer;
  s3: S3Server;
  json: JsonServices;
}

export async function awsStandIn(): Promise<AwsStandIn> {
  const [sqs, dynamodb, s3, json] = await Promise.all([startSqs(), startDynamoDb(), s3Server(), jsonServices()]);
  const places: Record<string, string> = {
    sqs: sqs.endpoint,
    sns: sqs.endpoint,
    dynamodb: dynamodb.endpoint,
    s3: s3.endpoint,
    ssm: json.endpoint,
    secretsmanager: json.endpoint,
    events: json.endpoint,
  };
  const front = await httpServer((incoming, response) => {
    const place = places[serviceOf(incoming)];
    if (place === undefined) response.writeHead(501).end();
    // A client that dies in the middle of its request gets no answer.
    else void forward(incoming, response, new URL(place)).catch(() => response.destroy());
  });
  return {
    endpoint: `http://127.0.0.1:${front.port}`,
    sqs,
    dynamodb,
    s3,
    json,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      for (const server of [sqs, dynamodb, s3, json]) await server[Symbol.asyncDispose]();
    },
  };
}

/** The signature says which service a request is for; a presigned link is one to S3. */
function serviceOf({ headers }: IncomingMessage): string {
  return /Credential=[^/]+\/\d{8}\/[^/]+\/([^/]+)\/aws4_request/.exec(headers.authorization ?? "")?.[1] ?? "s3";
}

/** The Host stays as it was sent: it is part of what was signed. */
async function forward(incoming: IncomingMessage, response: ServerResponse, place: URL): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(incoming));
  const { "transfer-encoding": _, ...headers } = incoming.headers;
  const options = {
    host: place.hostname,
    port: place.port,
    method: incoming.method,
    path: incoming.url,
    headers: { ...headers, "content-length": String(body.length) },
  };
  const outgoing = request(options, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
    answer.once("error", () => response.destroy());
  });
  outgoing.once("error", () => response.destroy());
  outgoing.end(body);
}
