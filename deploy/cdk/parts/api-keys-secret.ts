import { type CfnParameter, SecretValue, type Stack } from "aws-cdk-lib";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { explained } from "./explained.ts";

/** The accepted keys, where the service reads them; it looks again every now and then, so they can be changed there. */
export function apiKeysSecret(stack: Stack, apiKeys: CfnParameter): Secret {
  const secret = new Secret(stack, "Keys", {
    description: "Accepted bearer secrets, comma-separated",
    secretStringValue: SecretValue.cfnParameter(apiKeys),
  });
  explained(secret, {
    "AwsSolutions::AwsSolutions-SMG4":
      "clients hold these keys: when to change them is for their operators to say, not for a timer",
  });
  return secret;
}
