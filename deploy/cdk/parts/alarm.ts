import { Alarm, ComparisonOperator, type Metric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";

export interface AlarmOptions {
  metric: Metric;
  above: number;
  /** What it means; the runbook tells what to do. */
  means: string;
  alarmTopicArn: string;
  /** Periods in a row; one unless told otherwise. */
  periods?: number;
  /** Knowing nothing is as bad as knowing the worst. */
  whenUnknown?: TreatMissingData;
}

/** Tells the alarm topic when it begins and when it is over. */
export function alarm(scope: Construct, id: string, options: AlarmOptions): Alarm {
  const made = new Alarm(scope, id, {
    metric: options.metric,
    threshold: options.above,
    comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: options.periods ?? 1,
    treatMissingData: options.whenUnknown ?? TreatMissingData.NOT_BREACHING,
    alarmDescription: `${options.means}. See docs/runbook.md`,
  });
  const tell = { bind: () => ({ alarmActionArn: options.alarmTopicArn }) };
  made.addAlarmAction(tell);
  made.addOkAction(tell);
  return made;
}
