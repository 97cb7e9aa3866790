import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

/** Log lines for 30 days, and for as long after the stack is gone. Encrypted by CloudWatch's own key. */
export function keptLogs(scope: Construct, id: string): LogGroup {
  return new LogGroup(scope, id, { retention: RetentionDays.ONE_MONTH });
}
