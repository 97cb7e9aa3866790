import { Aws, Duration, type Stack } from "aws-cdk-lib";
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type Metric,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Queues } from "./queues.ts";
import { oldestJob, runningWorkers } from "./scaling.ts";
import type { WorkerFleet } from "./worker-fleet.ts";

export interface DashboardOptions {
  queues: Queues;
  fleet: WorkerFleet;
  signatureAge: Metric;
  verdicts: readonly Metric[];
  alarms: Alarm[];
}

const MINUTE = { period: Duration.minutes(1) };

/** One page that tells whether the installation keeps up, named as the stack. */
export function dashboard(stack: Stack, { queues, fleet, signatureAge, verdicts, alarms }: DashboardOptions): void {
  const { jobs, deadLetters } = queues;
  const graph = (title: string, ...left: readonly IMetric[]): GraphWidget =>
    new GraphWidget({ title, left: [...left], width: 8, height: 6 });
  new Dashboard(stack, "Dashboard", {
    dashboardName: Aws.STACK_NAME,
    widgets: [
      [new AlarmStatusWidget({ title: "Alarms", alarms, width: 24, height: 3 })],
      [
        graph(
          "Jobs",
          jobs.metricApproximateNumberOfMessagesVisible({ ...MINUTE, label: "wait" }),
          jobs.metricApproximateNumberOfMessagesNotVisible({ ...MINUTE, label: "under way" }),
          jobs.metricApproximateNumberOfMessagesDelayed({ ...MINUTE, label: "delayed" }),
        ),
        graph("Seconds the oldest job waits", oldestJob(jobs, Duration.minutes(1))),
        graph(
          "Dead letters",
          deadLetters.metricApproximateNumberOfMessagesVisible({ ...MINUTE, statistic: "Maximum" }),
        ),
      ],
      [
        graph("Verdicts a minute", ...verdicts),
        graph("Workers", runningWorkers(fleet)),
        graph(
          "CPU and memory of workers, %",
          fleet.service.metricCpuUtilization(),
          fleet.service.metricMemoryUtilization(),
        ),
      ],
      [graph("Seconds since signatures were built", signatureAge)],
    ],
  });
}
