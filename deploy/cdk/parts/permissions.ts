import { Aws, type CfnCondition, Fn } from "aws-cdk-lib";
import { CfnPolicy, type Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";

/** One thing that may be done, and to what. Maybe under a condition of the template. */
export type Statement = object;

export function allow(sid: string, actions: readonly string[], resources: readonly string[]): Statement {
  return { Sid: sid, Effect: "Allow", Action: actions, Resource: resources };
}

/** The same for items of these partitions of a table only. */
export function allowPartitions(sid: string, actions: readonly string[], { table, partitions }: Partitions): Statement {
  const inside = { "ForAllValues:StringEquals": { "dynamodb:LeadingKeys": partitions } };
  return { ...allow(sid, actions, [table]), Condition: inside };
}

export interface Partitions {
  table: string;
  partitions: readonly string[];
}

/** A statement that is there only when the condition holds. */
export function when(condition: CfnCondition, statement: Statement): Statement {
  return Fn.conditionIf(condition.logicalId, statement, Aws.NO_VALUE);
}

export function policyDocument(statements: readonly Statement[]): object {
  return { Version: "2012-10-17", Statement: statements };
}

/** What uses the role waits for it. */
export function mayDo(role: Role, statements: readonly Statement[]): void {
  new CfnPolicy(role, "Permissions", {
    policyName: "permissions",
    roles: [role.roleName],
    policyDocument: policyDocument(statements),
  });
}

/** Tasks of this account, and nobody else's that ECS was talked into running with the role. */
export function tasksOfThisAccount(): ServicePrincipal {
  return new ServicePrincipal("ecs-tasks.amazonaws.com", {
    conditions: {
      StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID },
      ArnLike: { "aws:SourceArn": `arn:${Aws.PARTITION}:ecs:${Aws.REGION}:${Aws.ACCOUNT_ID}:*` },
    },
  });
}

/** The names of the spec, under which receivers find the public key. */
export function publicKeyArns(scannerStackName: string): string[] {
  return ["PublicKeyPEMPKCS1", "PublicKeyPEMX509"].map(
    (name) => `arn:${Aws.PARTITION}:ssm:${Aws.REGION}:${Aws.ACCOUNT_ID}:parameter/scanner/${scannerStackName}/${name}`,
  );
}

/** Name of the secret with the private key of callback signatures. The service makes it when it is first needed. */
export function signingSecret(scannerStackName: string): string {
  return `scanner/${scannerStackName}/callback-signing-key`;
}

export function signingSecretArn(scannerStackName: string): string {
  return secretArn(signingSecret(scannerStackName));
}

/** The secret with the key that seals jobs in queue and table, where the service looks for it, and makes it when it is not there. */
export function sealingSecretArn(scannerStackName: string): string {
  return secretArn(`scanner/${scannerStackName}/job-sealing-key`);
}

/** To read a secret, and to make it when it is first needed. */
export const KEEP_SECRET = [
  "secretsmanager:CreateSecret",
  "secretsmanager:GetSecretValue",
  "secretsmanager:PutSecretValue",
];

/** Secrets Manager puts a dash and six characters of its own behind the name. */
function secretArn(name: string): string {
  return `arn:${Aws.PARTITION}:secretsmanager:${Aws.REGION}:${Aws.ACCOUNT_ID}:secret:${name}-??????`;
}
