import { Aws, Duration, type Stack } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import { FilterPattern, type LogGroup, MetricFilter } from "aws-cdk-lib/aws-logs";

/**
 * From the line that every worker writes at its start and every ten minutes:
 *
 *   {"time":"…","level":"info","event":"signatures","age_seconds":43200,…}
 *
 * `age_seconds` is the time since the signatures that clamd has loaded were built. The oldest of all workers counts.
 */
export function signatureAge(stack: Stack, logs: LogGroup): Metric {
  const metricNamespace = namespace();
  const metricName = "SignatureAge";
  new MetricFilter(stack, "SignatureAgeLines", {
    logGroup: logs,
    filterPattern: FilterPattern.literal('{ $.event = "signatures" }'),
    metricNamespace,
    metricName,
    metricValue: "$.age_seconds",
  });
  return new Metric({ namespace: metricNamespace, metricName, statistic: "Maximum", period: Duration.hours(1) });
}

/** Runs of jobs that ended in a verdict: `{"event":"job","verdict":"infected",…}`. */
export function verdicts(stack: Stack, logs: LogGroup): Metric[] {
  return ["clean", "infected", "unscannable"].map((verdict) => {
    const metricNamespace = namespace();
    const metricName = `Jobs-${verdict}`;
    new MetricFilter(stack, `Lines-${verdict}`, {
      logGroup: logs,
      filterPattern: FilterPattern.literal(`{ $.event = "job" && $.verdict = "${verdict}" }`),
      metricNamespace,
      metricName,
      metricValue: "1",
    });
    return new Metric({
      namespace: metricNamespace,
      metricName,
      label: verdict,
      statistic: "Sum",
      period: Duration.minutes(1),
    });
  });
}

function namespace(): string {
  return `Lazaret/${Aws.STACK_NAME}`;
}
