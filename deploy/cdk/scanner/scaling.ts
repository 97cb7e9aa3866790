import { Duration, type Stack } from "aws-cdk-lib";
import { AdjustmentType, CfnScalingPolicy, type ScalableTarget } from "aws-cdk-lib/aws-applicationautoscaling";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { ScannerParameters } from "./scanner-parameters.ts";
import type { WorkerFleet } from "./worker-fleet.ts";

/** Jobs that may wait for each worker: with 16 at once and half a second each, three seconds of work. */
const BACKLOG_PER_WORKER = 100;

/**
 * As many workers as the queue needs. Two policies, of which the one that wants more workers wins:
 *
 *   backlog   jobs that wait ÷ workers that run, kept near the target; the only one that takes workers away
 *   age       the oldest job waits for a minute, or ten: files are slower than the backlog makes believe
 */
export function scaling(
  stack: Stack,
  fleet: WorkerFleet,
  options: { parameters: ScannerParameters; jobs: Queue },
): void {
  const { parameters, jobs } = options;
  const target = fleet.service.autoScaleTaskCount({
    minCapacity: parameters.minWorkers.valueAsNumber,
    maxCapacity: parameters.maxWorkers.valueAsNumber,
  });
  target.scaleOnMetric("Age", {
    metric: oldestJob(jobs, Duration.minutes(1)),
    scalingSteps: [
      { upper: 60, change: 0 },
      { lower: 60, change: 2 },
      { lower: 600, change: 5 },
    ],
    adjustmentType: AdjustmentType.CHANGE_IN_CAPACITY,
    cooldown: Duration.minutes(2),
    evaluationPeriods: 1,
  });

  const named = (id: string, metric: Metric): CfnScalingPolicy.TargetTrackingMetricDataQueryProperty => ({
    id,
    returnData: false,
    metricStat: {
      metric: {
        namespace: metric.namespace,
        metricName: metric.metricName,
        dimensions: Object.entries(metric.dimensions ?? {}).map(([name, value]) => ({ name, value: String(value) })),
      },
      stat: metric.statistic,
    },
  });
  new CfnScalingPolicy(stack, "Backlog", {
    policyName: "backlog",
    policyType: "TargetTrackingScaling",
    scalingTargetId: (target.node.findChild("Target") as ScalableTarget).scalableTargetId,
    targetTrackingScalingPolicyConfiguration: {
      targetValue: BACKLOG_PER_WORKER,
      scaleOutCooldown: 60,
      scaleInCooldown: 300,
      customizedMetricSpecification: {
        metrics: [
          named("waiting", jobs.metricApproximateNumberOfMessagesVisible({ statistic: "Average" })),
          named("running", runningWorkers(fleet)),
          { id: "backlog", label: "Jobs that wait for each worker", expression: "waiting / running", returnData: true },
        ],
      },
    },
  });
}

export function oldestJob(jobs: Queue, period: Duration): Metric {
  return jobs.metricApproximateAgeOfOldestMessage({ statistic: "Maximum", period });
}

export function runningWorkers({ cluster, service }: WorkerFleet): Metric {
  return new Metric({
    namespace: "ECS/ContainerInsights",
    metricName: "RunningTaskCount",
    dimensionsMap: { ClusterName: cluster.clusterName, ServiceName: service.serviceName },
    statistic: "Average",
    period: Duration.minutes(1),
  });
}
