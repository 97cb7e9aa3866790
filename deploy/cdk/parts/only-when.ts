import { type CfnCondition, CfnResource, Stack } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Makes all resources of the constructs depend on the condition. */
export function onlyWhen(condition: CfnCondition, ...constructs: readonly IConstruct[]): void {
  for (const construct of constructs) {
    for (const each of construct.node.findAll()) {
      if (CfnResource.isCfnResource(each) && Stack.of(each) === Stack.of(condition))
        each.cfnOptions.condition = condition;
    }
  }
}
