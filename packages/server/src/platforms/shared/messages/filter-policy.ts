import type { FindingsAttributes, FittedAttributes } from "@lazaret/contract";

/**
 * Which findings a subscription wants, in the words of SNS: every attribute that is named must meet one of its
 * conditions. Without any, all findings are wanted.
 */
export type FilterPolicy = ReadonlyMap<AttributeName, readonly Condition[]>;

type AttributeName = keyof FindingsAttributes;

type Condition =
  | { kind: "is"; value: string | number }
  | { kind: "anything but"; values: readonly (string | number)[] }
  | { kind: "prefix"; prefix: string }
  | { kind: "anything but prefix"; prefix: string }
  | { kind: "numeric"; bounds: readonly Bound[] }
  | { kind: "exists"; exists: boolean };

interface Bound {
  operator: NumericOperator;
  value: number;
}

type NumericOperator = keyof typeof meets;

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

/** A value, or all that is wrong with what was given. */
export type Checked<T> = { value: T } | { problems: readonly string[] };

type AttributeKind = "string" | "number";
interface Wrong {
  problem: string;
}

/** The attributes of a finding, and what each holds. */
const kinds: Readonly<Record<AttributeName, AttributeKind>> = {
  bucket: "string",
  key: "string",
  version: "string",
  size: "number",
  status: "string",
  action: "string",
  finding: "string",
  trace_id: "string",
};

const LOWER: readonly unknown[] = [">", ">="];
const UPPER: readonly unknown[] = ["<", "<="];

/**
 * Reads a policy in SNS's syntax. Besides what SNS refuses, a name that is no attribute and a condition of the wrong kind
 * for its attribute are refused: a subscription that never gets anything would look like one without findings.
 */
export function parseFilterPolicy(json: unknown): Checked<FilterPolicy> {
  if (!isObject(json)) return { problems: ["must be an object of attribute names and lists of values"] };
  const policy = new Map<AttributeName, readonly Condition[]>();
  const problems: string[] = [];
  for (const [name, values] of Object.entries(json)) {
    const checked = conditionsOf(name, values);
    if ("problems" in checked) problems.push(...checked.problems.map((problem) => `${name} ${problem}`));
    else policy.set(name as AttributeName, checked.value);
  }
  return problems.length > 0 ? { problems } : { value: policy };
}

function conditionsOf(name: string, values: unknown): Checked<Condition[]> {
  const kind = Object.hasOwn(kinds, name) ? kinds[name as AttributeName] : undefined;
  if (!kind) return { problems: [`is no attribute of a finding; these are: ${Object.keys(kinds).join(", ")}`] };
  if (!Array.isArray(values) || values.length === 0) return { problems: ["must have a list of one or more values"] };
  const conditions: Condition[] = [];
  const problems: string[] = [];
  for (const value of values) {
    const condition = conditionOf(value, kind);
    if ("problem" in condition) problems.push(`${JSON.stringify(value)}: ${condition.problem}`);
    else conditions.push(condition);
  }
  return problems.length > 0 ? { problems } : { value: conditions };
}

function conditionOf(value: unknown, kind: AttributeKind): Condition | Wrong {
  if (!isObject(value)) return isOf(kind, value) ? { kind: "is", value } : otherKind(kind);
  const [entry = ["", undefined], ...others] = Object.entries(value);
  if (others.length > 0) return { problem: "a condition has one operator" };
  const [operator, operand] = entry;
  switch (operator) {
    case "exists":
      return typeof operand === "boolean"
        ? { kind: "exists", exists: operand }
        : { problem: "exists must be true or false" };
    case "prefix":
      return prefix("prefix", operand, kind);
    case "anything-but":
      return anythingBut(operand, kind);
    case "numeric":
      return kind === "number" ? numeric(operand) : { problem: "numeric needs an attribute that is a number" };
    default:
      return { problem: "the operators are prefix, anything-but, numeric and exists" };
  }
}

function prefix(condition: "prefix" | "anything but prefix", operand: unknown, kind: AttributeKind): Condition | Wrong {
  if (kind !== "string") return { problem: "prefix needs an attribute that is a string" };
  if (typeof operand === "string" && operand !== "") return { kind: condition, prefix: operand };
  return { problem: "prefix must be a string of one or more characters" };
}

function anythingBut(operand: unknown, kind: AttributeKind): Condition | Wrong {
  if (isObject(operand)) {
    const named = Object.keys(operand).join() === "prefix";
    return named ? prefix("anything but prefix", operand.prefix, kind) : { problem: "anything-but knows prefix only" };
  }
  const values: readonly unknown[] = Array.isArray(operand) ? operand : [operand];
  if (values.length === 0) return { problem: "anything-but needs one or more values" };
  const fitting = values.filter((value) => isOf(kind, value));
  return fitting.length === values.length ? { kind: "anything but", values: fitting } : otherKind(kind);
}

/** `["=", 1]`, `[">", 1]`, or a lower bound and an upper one: `[">", 1, "<=", 5]`. */
function numeric(operand: unknown): Condition | Wrong {
  const parts: readonly unknown[] = Array.isArray(operand) ? operand : [];
  const bounds = parts.flatMap((operator, at) => (at % 2 === 0 ? (boundOf(operator, parts[at + 1]) ?? []) : []));
  const [lower, upper] = bounds;
  if (bounds.length * 2 !== parts.length || !lower || bounds.length > 2) {
    return { problem: 'numeric takes =, >, >=, < or <= and a number, such as [">=", 1024], or two of these' };
  }
  if (!upper) return { kind: "numeric", bounds };
  if (!LOWER.includes(lower.operator) || !UPPER.includes(upper.operator)) {
    return { problem: 'a range is a lower bound and an upper one, such as [">", 0, "<=", 150]' };
  }
  const closed = lower.operator === ">=" && upper.operator === "<=";
  const empty = lower.value > upper.value || (lower.value === upper.value && !closed);
  return empty ? { problem: "the range is empty" } : { kind: "numeric", bounds };
}

function boundOf(operator: unknown, value: unknown): Bound | undefined {
  const known = operator === "=" || LOWER.includes(operator) || UPPER.includes(operator);
  return known && typeof value === "number" ? { operator: operator as NumericOperator, value } : undefined;
}

function isOf(kind: AttributeKind, value: unknown): value is string | number {
  return typeof value === kind;
}

function otherKind(kind: AttributeKind): Wrong {
  return { problem: `the attribute is a ${kind}, and so must be its values` };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
