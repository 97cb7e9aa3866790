import { evaluate, type Scope } from "./intrinsics.ts";

/** A synthesised template. */
export interface Template {
  Parameters?: Readonly<Record<string, Parameter>>;
  Rules?: Readonly<Record<string, Rule>>;
  Conditions?: Readonly<Record<string, unknown>>;
  Resources: Readonly<Record<string, TemplateResource>>;
  Outputs?: Readonly<Record<string, Output>>;
}

interface Parameter {
  Type: string;
  Default?: string | number;
  NoEcho?: boolean;
  Description?: string;
  AllowedValues?: readonly string[];
  AllowedPattern?: string;
  ConstraintDescription?: string;
}

interface Rule {
  RuleCondition?: unknown;
  Assertions: readonly { Assert: unknown; AssertDescription: string }[];
}

interface TemplateResource {
  Type: string;
  Condition?: string;
  Properties?: unknown;
  DependsOn?: readonly string[];
  Metadata?: object;
}

interface Output {
  Value: unknown;
  Condition?: string;
  Export?: { Name: unknown };
}

interface Resource {
  id: string;
  type: string;
  properties: Record<string, unknown>;
}

/** What CloudFormation would make of a template with these parameters. */
export interface Deployment {
  resources: readonly Resource[];
  /** Of this type, in the order of the template. */
  all(type: string): Record<string, unknown>[];
  /** The only one of this type, or the only one whose id begins with `id`. */
  one(type: string, id?: string): Record<string, unknown>;
  outputs: Readonly<Record<string, string>>;
  exports: Readonly<Record<string, string>>;
}

export interface DeploymentOptions {
  stackName: string;
  parameters?: Readonly<Record<string, string>>;
  exports?: Readonly<Record<string, string>>;
}

/**
 * Works out a template as CloudFormation does: parameters are checked, rules refuse, conditions decide what is there,
 * and functions become values. A resource stands for its id. Throws as CloudFormation would refuse it.
 */
export function deployment(
  template: Template,
  { stackName, parameters = {}, exports = {} }: DeploymentOptions,
): Deployment {
  const values = { ...pseudoParameters(stackName), ...checkedParameters(template, parameters) };
  const nothingYet: Scope = { values, conditions: {}, resources: new Set(), exports };
  for (const { RuleCondition = { "Fn::Equals": ["", ""] }, Assertions } of Object.values(template.Rules ?? {})) {
    if (evaluate(RuleCondition, nothingYet) !== true) continue;
    for (const { Assert, AssertDescription } of Assertions) {
      if (evaluate(Assert, nothingYet) !== true) throw new Error(AssertDescription);
    }
  }
  const conditions = conditionValues(template, nothingYet);
  const holds = ({ Condition }: { Condition?: string }): boolean =>
    Condition === undefined || conditions[Condition] === true;
  const present = Object.entries(template.Resources).filter(([, resource]) => holds(resource));
  const scope: Scope = { values, conditions, resources: new Set(present.map(([id]) => id)), exports };

  const resources = present.map(([id, { Type, Properties = {} }]) => ({
    id,
    type: Type,
    properties: evaluate(Properties, scope) as Record<string, unknown>,
  }));
  const outputs: Record<string, string> = {};
  const exported: Record<string, string> = {};
  for (const [name, output] of Object.entries(template.Outputs ?? {}).filter(([, each]) => holds(each))) {
    outputs[name] = String(evaluate(output.Value, scope));
    // CloudFormation cannot export what is empty.
    if (output.Export && outputs[name].trim() === "") throw new Error(`Cannot export output ${name}`);
    if (output.Export) exported[String(evaluate(output.Export.Name, scope))] = outputs[name];
  }
  const ofType = (type: string): Resource[] => resources.filter((each) => each.type === type);
  return {
    resources,
    all: (type) => ofType(type).map(({ properties }) => properties),
    one(type, id = "") {
      const found = ofType(type).filter((each) => each.id.startsWith(id));
      const [only] = found;
      if (found.length !== 1 || !only) throw new Error(`${found.length} resources are ${type} ${id}: not one`);
      return only.properties;
    },
    outputs,
    exports: exported,
  };
}

function pseudoParameters(stackName: string): Record<string, string> {
  return {
    "AWS::StackName": stackName,
    "AWS::Region": "eu-west-1",
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
  };
}

function checkedParameters(
  { Parameters = {} }: Template,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const unknown = Object.keys(given).find((name) => !(name in Parameters));
  if (unknown !== undefined) throw new Error(`Parameters: [${unknown}] do not exist in the template`);
  return Object.fromEntries(
    Object.entries(Parameters).map(([name, parameter]) => {
      const text = given[name] ?? parameter.Default;
      if (text === undefined) throw new Error(`Parameters: [${name}] must have values`);
      check(name, parameter, String(text));
      return [name, String(text)];
    }),
  );
}

function check(name: string, { AllowedValues, AllowedPattern, ConstraintDescription }: Parameter, value: string): void {
  if (AllowedValues && !AllowedValues.includes(value)) {
    throw new Error(`Parameter '${name}' must be one of AllowedValues`);
  }
  if (AllowedPattern !== undefined && !new RegExp(AllowedPattern).test(value)) {
    throw new Error(`Parameter ${name} failed to satisfy constraint: ${ConstraintDescription}`);
  }
}

/** Conditions may name each other. */
function conditionValues({ Conditions = {} }: Template, scope: Scope): Record<string, boolean> {
  const conditions: Record<string, boolean> = {};
  const worked = new Proxy(conditions, {
    get: (known, name: string) => {
      known[name] ??= evaluate(Conditions[name], { ...scope, conditions: worked }) === true;
      return known[name];
    },
  });
  for (const name of Object.keys(Conditions)) worked[name];
  return conditions;
}
