import type { App } from "aws-cdk-lib";
import { asyncApiStack } from "./async-api/async-api-stack.ts";
import { scannerStack } from "./scanner/scanner-stack.ts";
import { syncApiStack } from "./sync-api/sync-api-stack.ts";

/** The scanner and its add-ons. `name` in the CDK's context names the scanner's stack, and begins the names of the others. */
export function stacks(app: App, functionCode: string): void {
  const name: string = app.node.tryGetContext("name") ?? "lazaret";
  scannerStack(app, name);
  asyncApiStack(app, { stackName: `${name}-async-api`, scannerName: name, functionCode });
  syncApiStack(app, { stackName: `${name}-sync-api`, scannerName: name });
}
