import { type DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { monthOf, type UsageMeter } from "../../scan/usage-meter.ts";
import { awsUnavailable } from "./aws-unavailable.ts";
import type { Attributes } from "./job-state.ts";
import type { Table } from "./table.ts";

/** One item for each month, which all processes add to. */
export function tableUsage(
  parts: { dynamodb: DynamoDBClient; tableName: string; table: Table },
  now: () => number,
): UsageMeter {
  const key = (): Attributes => ({ pk: { S: "usage" }, sk: { S: monthOf(now()) } });
  return {
    async add(scans) {
      const command = new UpdateItemCommand({
        TableName: parts.tableName,
        Key: key(),
        UpdateExpression: "ADD scans :scans",
        ExpressionAttributeValues: { ":scans": { N: String(scans) } },
      });
      await parts.dynamodb.send(command).catch((error) => {
        throw awsUnavailable(error, "write to the table");
      });
    },
    async thisMonth() {
      return Number((await parts.table.get(key()))?.scans?.N ?? 0);
    },
  };
}
