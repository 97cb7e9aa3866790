import type { FindingsAttributes, FittedAttributes } from "@lazaret/contract";

/**
 * Which findings a subscription wants, in the words of SNS: every attribute that is named must meet one of its
 * conditions. Without any, all findings are wanted.
 */
export type FilterPolicy = ReadonlyMap<AttributeName, readonly Condition[]>;

export type AttributeName = keyof FindingsAttributes;

export type Condition =
  | { kind: "is"; value: string | number }
  | { kind: "anything but"; values: readonly (string | number)[] }
  | { kind: "prefix"; prefix: string }
  | { kind: "anything but prefix"; prefix: string }
  | { kind: "numeric"; bounds: readonly Bound[] }
  | { kind: "exists"; exists: boolean };

export interface Bound {
  operator: NumericOperator;
  value: number;
}

export type NumericOperator = keyof typeof meets;

const meets = {
  "=": (size: number, value: number): boolean => size === value,
  ">": (size: number, value: number): boolean => size > value,
  ">=": (size: number, value: number): boolean => size >= value,
  "<": (size: number, value: number): boolean => size < value,
  "<=": (size: number, value: number): boolean => size <= value,
};

/** Whether a finding with these attributes is wanted. Strings and numbers are never equal; case counts. */
export function matches(policy: FilterPolicy, attributes: FittedAttributes): boolean {
  return [...policy].every(([name, conditions]) => conditions.some((condition) => holds(condition, attributes[name])));
}

/** An attribute that is missing meets nothing but `exists: false`. */
function holds(condition: Condition, value: string | number | undefined): boolean {
  if (condition.kind === "exists") return condition.exists === (value !== undefined);
  if (value === undefined) return false;
  switch (condition.kind) {
    case "is":
      return value === condition.value;
    case "anything but":
      return !condition.values.includes(value);
    case "prefix":
      return typeof value === "string" && value.startsWith(condition.prefix);
    case "anything but prefix":
      return !(typeof value === "string" && value.startsWith(condition.prefix));
    case "numeric":
      return typeof value === "number" && condition.bounds.every((bound) => meets[bound.operator](value, bound.value));
  }
}
