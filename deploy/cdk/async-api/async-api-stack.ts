import { type App, CfnOutput, Stack } from "aws-cdk-lib";
import { addOnParameters } from "../parts/add-on-parameters.ts";
import { apiKeysSecret } from "../parts/api-keys-secret.ts";
import { callbackNetworks, yesOrNo } from "../parts/parameters.ts";
import { stackOptions } from "../parts/stack-options.ts";
import { apiFunction } from "./api-function.ts";
import { functionNetwork } from "./function-network.ts";
import { httpApi } from "./http-api.ts";

export interface AsyncApiOptions {
  stackName: string;
  /** Of the scanner stack, unless an operator says otherwise. */
  scannerName: string;
  /** Folder with the function's code. */
  functionCode: string;
}

/** Add-on: the asynchronous API, as a function behind an HTTP API. It takes jobs in and answers polls; workers do the rest. */
export function asyncApiStack(app: App, { stackName, scannerName, functionCode }: AsyncApiOptions): Stack {
  const stack = new Stack(app, "async-api", stackOptions(stackName, "Lazaret: the asynchronous API"));
  const addOn = addOnParameters(stack, scannerName);
  const sign = yesOrNo(stack, "SignCallbackInvocations", {
    description: "Callbacks are signed. True only if it is for the scanner too",
    default: false,
  });
  const network = functionNetwork(stack);
  const made = apiFunction(stack, {
    addOn,
    sign,
    network,
    networks: callbackNetworks(stack),
    keys: apiKeysSecret(stack, addOn.apiKeys),
    code: functionCode,
  });
  const endpoint = httpApi(stack, made, addOn.told("AlarmTopicArn"));
  new CfnOutput(stack, "ApiEndpoint", {
    value: endpoint,
    description: "Base address of the API, {base_url} in its docs",
  });
  return stack;
}
