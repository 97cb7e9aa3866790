import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { awsUnavailable } from "./aws-unavailable.ts";

export type Attributes = Record<string, AttributeValue>;

/**
 * The one table: `pk` and `sk` are strings, `expires_at` is its TTL attribute, in seconds. All of it throws
 * `QueueUnavailable`. Whatever writes on a condition answers whether the condition was met.
 */
export interface Table {
  /** Writes the whole item. What was there before, if the condition was met. */
  put(item: Attributes, condition: Condition): Promise<{ before: Attributes | undefined } | undefined>;
  update(key: Attributes, change: Change): Promise<boolean>;
  /** The item as it is then; undefined when the condition was not met. */
  updated(key: Attributes, change: Change): Promise<Attributes | undefined>;
  /** Adds to numbers, which are zero where there are none, all at once. */
  increase(key: Attributes, numbers: readonly (readonly [name: string, by: number])[]): Promise<void>;
  /** `perhaps`: it is not there, and an earlier try of ours may be why; its answer was lost. */
  remove(key: Attributes, condition: Condition): Promise<boolean | "perhaps">;
  /** As it is now, whoever wrote it. */
  get(key: Attributes): Promise<Attributes | undefined>;
  /** How many items a partition has; stops where the limit is reached. */
  count(counted: { pk: string; upTo: number; consistent: boolean }): Promise<number>;
  /** One page of a partition. */
  query(query: TableQuery): Promise<{ items: Attributes[]; next: Attributes | undefined }>;
}

/** Of what is written whatever is there. */
export const ANY = "attribute_not_exists(pk) OR attribute_exists(pk)";

export interface Condition {
  if: string;
  values?: Attributes;
}

interface Change extends Condition {
  /** Attributes to set, and those to set where there are none yet. */
  set: Attributes;
  setOnce?: Attributes;
  remove?: readonly string[];
}

export interface TableQuery {
  pk: string;
  newestFirst: boolean;
  /** Only what sorts before. */
  before?: string;
  filter?: Condition;
  limit?: number;
  after?: Attributes;
  /** Else it may miss what was written within the last second. */
  consistent: boolean;
}

export function table(client: DynamoDBClient, tableName: string): Table {
  async function attempted<T>(attempt: string, call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return undefined;
      throw awsUnavailable(error, attempt);
    }
  }

  async function updated(key: Attributes, change: Change): Promise<Attributes | undefined> {
    const { set, setOnce = {}, remove = [], values = {} } = change;
    const sets = [
      ...Object.keys(set).map((name) => `${name} = :set_${name}`),
      ...Object.keys(setOnce).map((name) => `${name} = if_not_exists(${name}, :set_${name})`),
    ];
    const changed = Object.entries({ ...set, ...setOnce }).map(([name, value]) => [`:set_${name}`, value]);
    const command = new UpdateItemCommand({
      TableName: tableName,
      Key: key,
      UpdateExpression: `SET ${sets.join(", ")}${remove.length > 0 ? ` REMOVE ${remove.join(", ")}` : ""}`,
      ConditionExpression: change.if,
      ExpressionAttributeValues: { ...values, ...Object.fromEntries(changed) },
      ReturnValues: "ALL_NEW",
    });
    return (await attempted("write to the table", client.send(command)))?.Attributes;
  }

  async function get(key: Attributes): Promise<Attributes | undefined> {
    const command = new GetItemCommand({ TableName: tableName, Key: key, ConsistentRead: true });
    return (await attempted("read the table", client.send(command)))?.Item;
  }

  return {
    updated,
    update: async (key, change) => (await updated(key, change)) !== undefined,

    async put(item, condition) {
      const command = new PutItemCommand({
        TableName: tableName,
        Item: item,
        ReturnValues: "ALL_OLD",
        ...conditional(condition),
      });
      const answer = await attempted("write to the table", client.send(command));
      return answer && { before: answer.Attributes };
    },

    async increase(key, numbers) {
      const command = new UpdateItemCommand({
        TableName: tableName,
        Key: key,
        UpdateExpression: `ADD ${numbers.map((_, index) => `#n${index} :n${index}`).join(", ")}`,
        ExpressionAttributeNames: Object.fromEntries(numbers.map(([name], index) => [`#n${index}`, name])),
        ExpressionAttributeValues: Object.fromEntries(
          numbers.map(([, by], index) => [`:n${index}`, { N: String(by) }]),
        ),
      });
      await attempted("write to the table", client.send(command));
    },

    async remove(key, condition) {
      const command = new DeleteItemCommand({ TableName: tableName, Key: key, ...conditional(condition) });
      try {
        await client.send(command);
        return true;
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw awsUnavailable(error, "write to the table");
        const tries = error.$metadata.attempts ?? 1;
        return tries > 1 && (await get(key)) === undefined ? "perhaps" : false;
      }
    },

    get,

    async count({ pk, upTo, consistent }) {
      let counted = 0;
      let after: Attributes | undefined;
      do {
        const command = new QueryCommand({
          TableName: tableName,
          KeyConditionExpression: "pk = :pk",
          ExpressionAttributeValues: { ":pk": { S: pk } },
          Select: "COUNT",
          ConsistentRead: consistent,
          Limit: upTo - counted,
          ...(after && { ExclusiveStartKey: after }),
        });
        const answer = await attempted("read the table", client.send(command));
        counted += answer?.Count ?? 0;
        after = answer?.LastEvaluatedKey;
      } while (after && counted < upTo);
      return counted;
    },

    async query({ pk, newestFirst, before, filter, limit, after, consistent }) {
      const command = new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: before === undefined ? "pk = :pk" : "pk = :pk AND sk < :before",
        ExpressionAttributeValues: {
          ":pk": { S: pk },
          ...(before !== undefined && { ":before": { S: before } }),
          ...filter?.values,
        },
        ScanIndexForward: !newestFirst,
        ConsistentRead: consistent,
        ...(filter && { FilterExpression: filter.if }),
        ...(limit !== undefined && { Limit: limit }),
        ...(after && { ExclusiveStartKey: after }),
      });
      const answer = await attempted("read the table", client.send(command));
      return { items: answer?.Items ?? [], next: answer?.LastEvaluatedKey };
    },
  };
}

function conditional({ if: expression, values }: Condition): object {
  return { ConditionExpression: expression, ...(values && { ExpressionAttributeValues: values }) };
}
