import {
  CfnCondition,
  CfnParameter,
  type CfnParameterProps,
  CfnRule,
  Fn,
  type ICfnConditionExpression,
  type Stack,
} from "aws-cdk-lib";

/** A parameter that is `true` or `false`. */
export interface Switch {
  parameter: CfnParameter;
  /** The condition that it is true. */
  readonly on: CfnCondition;
}

/** A pattern is for the whole value. */
export function parameter(stack: Stack, name: string, props: CfnParameterProps): CfnParameter {
  const { allowedPattern } = props;
  return new CfnParameter(stack, name, {
    type: "String",
    ...props,
    ...(allowedPattern !== undefined && { allowedPattern: `^(${allowedPattern})$` }),
  });
}

export function yesOrNo(stack: Stack, name: string, props: { default: boolean; description: string }): Switch {
  const made = parameter(stack, name, { ...props, default: String(props.default), allowedValues: ["true", "false"] });
  let on: CfnCondition | undefined;
  return {
    parameter: made,
    // In the template only if something depends on it.
    get on() {
      on ??= new CfnCondition(stack, `${name}On`, { expression: is(made, "true") });
      return on;
    },
  };
}

/** Comma-separated values. A parameter of the type for that would be more than the rules of a template can compare. */
export function listParameter(
  stack: Stack,
  name: string,
  props: CfnParameterProps & { allowedPattern: string },
): CfnParameter {
  const each = props.allowedPattern;
  return parameter(stack, name, { ...props, default: "", allowedPattern: `|${each}(,${each})*` });
}

/** Of the scanner, which calls back, and of what takes jobs in, which refuses addresses that are not allowed. */
export function callbackNetworks(stack: Stack): CfnParameter {
  return listParameter(stack, "CallbackNetworks", {
    description: "Private networks that callbacks may reach, comma-separated, such as 10.0.0.0/8. Empty for none",
    allowedPattern: "(\\d{1,3}\\.){3}\\d{1,3}/(3[0-2]|[12]?\\d)",
    constraintDescription: "must be networks such as 10.0.0.0/8, with commas and no spaces between them",
  });
}

export function valuesOf(list: CfnParameter): string[] {
  return Fn.split(",", list.valueAsString);
}

/** The condition that an optional parameter was given. */
export function isGiven(stack: Stack, given: CfnParameter): CfnCondition {
  return new CfnCondition(stack, `${given.node.id}Given`, { expression: isNot(given, "") });
}

/** Refuses the parameters with the message when `when` holds and `must` does not. Before anything is created. */
export function refuse(
  stack: Stack,
  name: string,
  rule: { when: ICfnConditionExpression; must: ICfnConditionExpression; message: string },
): void {
  new CfnRule(stack, name, {
    ruleCondition: rule.when,
    assertions: [{ assert: rule.must, assertDescription: rule.message }],
  });
}

export function is(subject: CfnParameter, value: string): ICfnConditionExpression {
  return Fn.conditionEquals(subject.valueAsString, value);
}

export function isNot(subject: CfnParameter, value: string): ICfnConditionExpression {
  return Fn.conditionNot(is(subject, value));
}
