import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { temporaryFolder } from "../../../../packages/server/test/support/leftovers.ts";
import { stacks } from "../../stacks.ts";
import { type Deployment, type DeploymentOptions, deployment, type Template } from "./deployment.ts";

export interface Templates {
  scanner: Template;
  asyncApi: Template;
  syncApi: Template;
}

type Given = NonNullable<DeploymentOptions["parameters"]>;

/** Folders for a function's code that is never run, and for templates. */
export function emptyFunction(folder: string): { functionCode: string; outdir: string } {
  const functionCode = join(folder, "function");
  mkdirSync(functionCode);
  writeFileSync(join(functionCode, "index.mjs"), "");
  return { functionCode, outdir: join(folder, "templates") };
}

/** Synthesised without the checks, which are slow and have a test of their own. */
export function templates(): Templates {
  using folder = temporaryFolder();
  const { functionCode, outdir } = emptyFunction(folder.path);
  const app = new App({ analyticsReporting: false, builtinCloudFormationValidation: false, outdir });
  stacks(app, functionCode);
  const assembly = app.synth();
  const template = (name: string): Template => assembly.getStackByName(name).template;
  return {
    scanner: template("lazaret"),
    asyncApi: template("lazaret-async-api"),
    syncApi: template("lazaret-sync-api"),
  };
}

/** A scanner with the defaults, or otherwise. */
export function scannerOf({ scanner }: Templates, parameters: Given = {}): Deployment {
  return deployment(scanner, { stackName: "lazaret", parameters: { ImageTag: "1.2.3", ...parameters } });
}

/** The asynchronous API of such a scanner. */
export function asyncApiOf(all: Templates, parameters: Given = {}, scanner: Given = {}): Deployment {
  const { exports } = scannerOf(all, scanner);
  const given = { ApiKeys: "a-good-key-to-try", ...parameters };
  return deployment(all.asyncApi, { stackName: "lazaret-async-api", parameters: given, exports });
}

/** The synchronous API of such a scanner, at scan.example.com unless told otherwise. */
export function syncApiOf(all: Templates, parameters: Given = {}, scanner: Given = {}): Deployment {
  const { exports } = scannerOf(all, scanner);
  const given = { ApiKeys: "a-good-key-to-try", HostedZoneId: "Z0123", DomainName: "scan.example.com", ...parameters };
  return deployment(all.syncApi, { stackName: "lazaret-sync-api", parameters: given, exports });
}
