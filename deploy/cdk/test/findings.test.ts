import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Stack } from "aws-cdk-lib";
import { CfnSecurityGroup } from "aws-cdk-lib/aws-ec2";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { temporaryFolder } from "../../../packages/server/test/support/leftovers.ts";
import { checkedApp } from "../checked-app.ts";
import { stacks } from "../stacks.ts";
import { emptyFunction } from "./support/templates.ts";

/** What is found and stands: the rule, where it was found, and that the code there says why. */
const EXPLAINED = [
  "AwsSolutions-APIG4 async-api/Api/ANY--v1--{rest+}/Resource",
  "AwsSolutions-APIG4 async-api/Api/DefaultRoute/Resource",
  "AwsSolutions-APIG4 async-api/Api/GET--.well-known--lazaret--{key}/Resource",
  "AwsSolutions-APIG4 async-api/Api/GET--api--v1--scan--async--result/Resource",
  "AwsSolutions-APIG4 async-api/Api/GET--api--v1--test/Resource",
  "AwsSolutions-APIG4 async-api/Api/POST--api--v1--scan--async--download/Resource",
  "AwsSolutions-APIG4 async-api/Api/POST--api--v1--scan--async--objstore/Resource",
  "AwsSolutions-APIG4 async-api/Api/POST--api--v1--scan--async--s3/Resource",
  "AwsSolutions-AS3 sync-api/Instances",
  "AwsSolutions-EC23 scanner/EndpointsGuard/Resource",
  "AwsSolutions-EC23 sync-api/BalancerGuard/Resource",
  "AwsSolutions-EC23 sync-api/InstancesGuard",
  "AwsSolutions-ECS2 scanner/Task/Resource",
  "AwsSolutions-ECS2 sync-api/Task/Resource",
  "AwsSolutions-IAM5[Resource::*] scanner/ExecutionRole/DefaultPolicy/Resource",
  "AwsSolutions-IAM5[Resource::*] sync-api/ExecutionRole/DefaultPolicy/Resource",
  "AwsSolutions-IAM5[Resource::*] sync-api/InstanceRole/Permissions",
  "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:container-instance/<ClusterEB0386A7>/*] sync-api/InstanceRole/Permissions",
  "AwsSolutions-S1 scanner/Signatures/Resource",
  "AwsSolutions-S1 sync-api/AccessLogs/Resource",
  "AwsSolutions-SMG4 async-api/Keys/Resource",
  "AwsSolutions-SMG4 sync-api/Keys/Resource",
  "F3031 async-api/Function/Resource",
];

interface Report {
  pluginReports: {
    pluginName: string;
    violations: unknown[];
    suppressedViolations?: { ruleName: string; reason: string; violatingConstructs: { constructPath: string }[] }[];
  }[];
}

test("cdk-nag and cloudformation-validate find nothing that is not explained", () => {
  using folder = temporaryFolder();
  const { functionCode, outdir } = emptyFunction(folder.path);
  const app = checkedApp({ outdir });
  stacks(app, functionCode);
  assert.equal(app.synth().stacks.length, 3);
  const { pluginReports } = JSON.parse(readFileSync(join(outdir, "validation-report.json"), "utf8")) as Report;
  assert.deepEqual(pluginReports.map(({ pluginName }) => pluginName).sort(), [
    "AwsSolutions",
    "CloudFormation Validate",
  ]);
  assert.deepEqual(
    pluginReports.flatMap(({ violations }) => violations),
    [],
  );

  const stands = pluginReports.flatMap(({ suppressedViolations = [] }) => suppressedViolations);
  for (const { ruleName, reason } of stands) assert.ok(reason.length > 30, `${ruleName}: ${reason}`);
  const found = stands.flatMap(({ ruleName, violatingConstructs }) =>
    violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
  );
  assert.deepEqual(found.sort(), EXPLAINED);
});

test("the checks see a bucket that logs nothing, and a description that cannot be", () => {
  using folder = temporaryFolder();
  const app = checkedApp({ outdir: join(folder.path, "templates") });
  // Errors hold the findings then, and nothing is printed.
  app.node.setContext("@aws-cdk/core:appMode", "inmemory");
  const stack = new Stack(app, "careless");
  new Bucket(stack, "Open");
  new CfnSecurityGroup(stack, "Guard", { groupDescription: "what's this" });
  for (const rule of [/AwsSolutions::AwsSolutions-S1/, /CloudFormation-Validate::F3031/]) {
    assert.throws(() => app.synth({ force: true }), rule);
  }
});
