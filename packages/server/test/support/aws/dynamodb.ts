import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import {
  type AttributeValue,
  CreateTableCommand,
  DynamoDBClient,
  PutItemCommand,
  ScanCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { useCredentials } from "./credentials.ts";

const dynalite: (options: { createTableMs: number }) => Server = createRequire(import.meta.url)("dynalite");

/** A real endpoint of DynamoDB. The one on loopback knows no TTL: nothing in it goes by itself. */
export interface DynamoDbServer extends AsyncDisposable {
  endpoint: string;
  /** The name of a new table, as the stack makes it. */
  table(): Promise<string>;
  /** Writes an item as it is, whatever was there. */
  put(tableName: string, item: Record<string, AttributeValue>): Promise<void>;
  /** All that a table holds. */
  items(tableName: string): Promise<Record<string, AttributeValue>[]>;
}

let tables = 0;

export async function startDynamoDb(): Promise<DynamoDbServer> {
  const server = dynalite({ createTableMs: 0 });
  // Else an idle connection may be closed just when a client uses it again.
  server.keepAliveTimeout = 0;
  survive(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return dynamoDbAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
}

/** It throws when a client goes away in mid-request, which would end this process. */
function survive(server: Server): void {
  const [answer] = server.listeners("request") as ((request: IncomingMessage, response: ServerResponse) => void)[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    answer?.(request, response);
    request.removeAllListeners("error").on("error", () => response.destroy());
  });
}

export function dynamoDbElsewhere(endpoint: string): DynamoDbServer {
  return dynamoDbAt(endpoint, async () => {});
}

function dynamoDbAt(endpoint: string, stop: () => Promise<void>): DynamoDbServer {
  useCredentials();
  const client = new DynamoDBClient({ endpoint, region: "us-east-1" });

  return {
    endpoint,

    async table() {
      tables += 1;
      const TableName = `lazaret-${process.pid}-${tables}`;
      await client.send(
        new CreateTableCommand({
          TableName,
          BillingMode: "PAY_PER_REQUEST",
          KeySchema: [
            { AttributeName: "pk", KeyType: "HASH" },
            { AttributeName: "sk", KeyType: "RANGE" },
          ],
          AttributeDefinitions: [
            { AttributeName: "pk", AttributeType: "S" },
            { AttributeName: "sk", AttributeType: "S" },
          ],
        }),
      );
      await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 0.02, maxDelay: 0.1 }, { TableName });
      return TableName;
    },

    async put(TableName, Item) {
      await client.send(new PutItemCommand({ TableName, Item }));
    },

    async items(TableName) {
      const { Items = [] } = await client.send(new ScanCommand({ TableName, ConsistentRead: true }));
      return Items;
    },

    async [Symbol.asyncDispose]() {
      client.destroy();
      await stop();
    },
  };
}
