import type { Deployment } from "./deployment.ts";

type Properties = Record<string, unknown>;

interface Statement {
  Sid?: string;
  Effect: string;
  Action: string | string[];
  Resource: string | string[];
  Principal?: unknown;
  Condition?: unknown;
}

/** The statements of a policy, as lines to compare: `sqs:SendMessage on <queue>`; with the partitions of a table that it is held to. */
export function allowed(policy: Properties): string[] {
  return statements(policy)
    .filter(({ Effect }) => Effect === "Allow")
    .map(({ Action, Resource, Condition }) => {
      const line = `${[Action].flat().join(" ")} on ${[Resource].flat().join(" ")}`;
      const partitions = (Condition as PartitionCondition)?.["ForAllValues:StringEquals"]?.["dynamodb:LeadingKeys"];
      return partitions ? `${line}: ${partitions.join(" ")}` : line;
    });
}

export function statements(policy: Properties): Statement[] {
  return (policy.PolicyDocument as { Statement: Statement[] }).Statement;
}

type PartitionCondition = { "ForAllValues:StringEquals"?: { "dynamodb:LeadingKeys"?: string[] } } | undefined;

/** All that roles may do to more than a named thing. */
export function wildcards(deployed: Deployment): string[] {
  return ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"]
    .flatMap((type) => deployed.all(type))
    .flatMap(allowed)
    .filter((line) => /[*?]/.test(line));
}

export interface Container {
  Name: string;
  Image: string;
  Essential: boolean;
  ReadonlyRootFilesystem: boolean;
  Environment: { Name: string; Value: string }[];
  MountPoints: { SourceVolume: string; ContainerPath: string }[];
  DependsOn?: { ContainerName: string; Condition: string }[];
  LogConfiguration: { LogDriver: string };
  HealthCheck: { Command: string[] };
}

/** The containers of the only task definition, by name. */
export function containers(deployed: Deployment): Record<"service" | "clamd", Container> {
  const list = deployed.one("AWS::ECS::TaskDefinition").ContainerDefinitions as Container[];
  const byName = Object.fromEntries(list.map((each) => [each.Name, each]));
  return byName as Record<"service" | "clamd", Container>;
}

export function environment({ Environment }: Container): Record<string, string> {
  return Object.fromEntries(Environment.map(({ Name, Value }) => [Name, Value]));
}

/** The environment of the only function. */
export function functionSettings(deployed: Deployment): Record<string, string> {
  return (deployed.one("AWS::Lambda::Function").Environment as { Variables: Record<string, string> }).Variables;
}

/** Names of the parameters, and those that have no default. */
export function parameterNames(template: { Parameters?: Readonly<Record<string, { Default?: unknown }>> }): {
  all: string[];
  required: string[];
} {
  const entries = Object.entries(template.Parameters ?? {});
  return {
    all: entries.map(([name]) => name).sort(),
    required: entries.flatMap(([name, { Default }]) => (Default === undefined ? name : [])),
  };
}
