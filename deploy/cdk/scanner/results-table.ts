import type { Stack } from "aws-cdk-lib";
import { AttributeType, BillingMode, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import { tell } from "../parts/told.ts";

/** Jobs under way and results; every item has the time at which it goes. Kept when the stack is deleted. */
export function resultsTable(stack: Stack): Table {
  const table = new Table(stack, "Results", {
    partitionKey: { name: "pk", type: AttributeType.STRING },
    sortKey: { name: "sk", type: AttributeType.STRING },
    timeToLiveAttribute: "expires_at",
    billingMode: BillingMode.PAY_PER_REQUEST,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    encryption: TableEncryption.AWS_MANAGED,
  });
  tell(stack, "TableName", table.tableName);
  tell(stack, "TableArn", table.tableArn);
  return table;
}
