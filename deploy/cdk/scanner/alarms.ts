import { Duration, type Stack } from "aws-cdk-lib";
import { type Alarm, type Metric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { alarm } from "../parts/alarm.ts";
import type { Queues } from "./queues.ts";
import { oldestJob } from "./scaling.ts";

/** The link to an object is good for 12 hours; a job that waits longer cannot be done any more. */
const OLDEST_JOB = Duration.hours(12);
/** From then on the service calls itself not ready. */
const OLDEST_SIGNATURES = Duration.days(7);

export interface AlarmsOptions {
  queues: Queues;
  signatureAge: Metric;
  alarmTopicArn: string;
}

/** What a person must look at. Each has its page in docs/runbook.md. */
export function alarms(stack: Stack, { queues, signatureAge, alarmTopicArn }: AlarmsOptions): Alarm[] {
  return [
    alarm(stack, "DeadLettersAlarm", {
      metric: queues.deadLetters.metricApproximateNumberOfMessagesVisible({
        statistic: "Maximum",
        period: Duration.minutes(1),
      }),
      above: 0,
      means: "There are dead letters: jobs that were acknowledged and could not be finished",
      alarmTopicArn,
    }),
    alarm(stack, "OldestJobAlarm", {
      metric: oldestJob(queues.jobs, Duration.minutes(5)),
      above: OLDEST_JOB.toSeconds(),
      means: "A job has waited for more than 12 hours",
      alarmTopicArn,
    }),
    alarm(stack, "SignaturesAlarm", {
      metric: signatureAge,
      above: OLDEST_SIGNATURES.toSeconds(),
      periods: 2,
      whenUnknown: TreatMissingData.BREACHING,
      means: "A worker scans with signatures older than 7 days, or no worker has told their age for two hours",
      alarmTopicArn,
    }),
  ];
}
