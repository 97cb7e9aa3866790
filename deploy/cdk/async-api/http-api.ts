import { Aws, Duration, type Stack } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import { type CfnStage, HttpApi, HttpMethod, HttpStage, LogGroupLogDestination } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { alarm } from "../parts/alarm.ts";
import { explained } from "../parts/explained.ts";
import { keptLogs } from "../parts/kept-logs.ts";

const endpoints: readonly (readonly [HttpMethod, string])[] = [
  [HttpMethod.POST, "/api/v1/scan/async/download"],
  [HttpMethod.POST, "/api/v1/scan/async/objstore"],
  [HttpMethod.GET, "/api/v1/scan/async/result"],
  [HttpMethod.GET, "/api/v1/test"],
  // The same in the other dialect.
  [HttpMethod.POST, "/api/v1/scan/async/s3"],
  // For receivers of callbacks, who have no key.
  [HttpMethod.GET, "/.well-known/lazaret/{key}"],
  [HttpMethod.ANY, "/v1/{rest+}"],
];
/** Everything else is for the service to refuse in its own words, but not thousands of times a second. */
const ELSEWHERE = { rateLimit: 20, burstLimit: 50 };

/** A line for each request, with nothing of what the client sent. */
const ACCESS_LINE = {
  time: "$context.requestTimeEpoch",
  request_id: "$context.requestId",
  remote: "$context.identity.sourceIp",
  route: "$context.routeKey",
  status: "$context.status",
  ms: "$context.responseLatency",
  error: "$context.integrationErrorMessage",
};

/** HTTPS in front of the function. Answers the base address. */
export function httpApi(stack: Stack, handler: LambdaFunction, alarmTopicArn: string): string {
  const integration = new HttpLambdaIntegration("Calls", handler);
  const api = new HttpApi(stack, "Api", {
    apiName: Aws.STACK_NAME,
    createDefaultStage: false,
    defaultIntegration: integration,
  });
  for (const [method, path] of endpoints) api.addRoutes({ path, methods: [method], integration });
  const stage = new HttpStage(stack, "Stage", {
    httpApi: api,
    stageName: "$default",
    autoDeploy: true,
    accessLogSettings: {
      destination: new LogGroupLogDestination(keptLogs(stack, "AccessLogs")),
      format: AccessLogFormat.custom(JSON.stringify(ACCESS_LINE)),
    },
  });
  (stage.node.defaultChild as CfnStage).addPropertyOverride("RouteSettings", {
    $default: { ThrottlingRateLimit: ELSEWHERE.rateLimit, ThrottlingBurstLimit: ELSEWHERE.burstLimit },
  });
  // The settings above name that route: without it the stage cannot be made.
  stage.node.addDependency(api.node.findChild("DefaultRoute"));
  explained(api, {
    "AwsSolutions::AwsSolutions-APIG4":
      "the function checks the bearer secret itself, the same way as on every other platform",
  });
  alarm(stack, "AsyncApiAlarm", {
    metric: api.metricServerError({ statistic: "Sum", period: Duration.minutes(5) }),
    above: 0,
    periods: 2,
    means: "The asynchronous API has answered with 5xx for ten minutes",
    alarmTopicArn,
  });
  return api.apiEndpoint;
}
