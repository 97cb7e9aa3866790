/** What a template's functions are worked out from. */
export interface Scope {
  /** Of parameters and pseudo parameters. */
  values: Readonly<Record<string, string>>;
  conditions: Readonly<Record<string, boolean>>;
  /** Resources that will be there. */
  resources: ReadonlySet<string>;
  exports: Readonly<Record<string, string>>;
}

type Args = readonly unknown[];
type Worked = (args: unknown, scope: Scope) => unknown;

/** What stands for a value that is left out. */
const NOTHING = Symbol("AWS::NoValue");

/** Functions by their names. An unknown one, a resource that is not there or an export that nobody has is an error. */
const functions: Readonly<Record<string, Worked>> = {
  Ref: (name, { values, resources }) => {
    if (name === "AWS::NoValue") return NOTHING;
    const value = values[String(name)];
    if (value !== undefined) return value;
    return there(String(name), resources);
  },
  "Fn::GetAtt": (args, { resources }) => {
    const [name = "", ...attribute] = typeof args === "string" ? args.split(".") : (args as string[]);
    return `${there(name, resources)}.${attribute.join(".")}`;
  },
  "Fn::If": (args, scope) => {
    const [name, yes, no] = args as [string, unknown, unknown];
    const holds = scope.conditions[name];
    if (holds === undefined) throw new Error(`there is no condition ${name}`);
    return evaluate(holds ? yes : no, scope);
  },
  "Fn::ImportValue": (args, scope) => {
    const name = String(evaluate(args, scope));
    const value = scope.exports[name];
    if (value === undefined) throw new Error(`No export named ${name} found`);
    return value;
  },
  "Fn::Sub": (args, scope) => {
    const text = typeof args === "string" ? args : String((args as Args)[0]);
    return text.replaceAll(/\$\{([^}]+)\}/g, (_, name: string) => String(evaluate({ Ref: name }, scope)));
  },
  "Fn::Join": (args, scope) => {
    const [separator, list] = evaluate(args, scope) as [string, string[]];
    return list.join(separator);
  },
  "Fn::Split": (args, scope) => {
    const [separator, text] = evaluate(args, scope) as [string, string];
    return text.split(separator);
  },
  "Fn::Select": (args, scope) => {
    const [index, list] = evaluate(args, scope) as [number | string, string[]];
    return list[Number(index)];
  },
  "Fn::Base64": (args, scope) => evaluate(args, scope),
  "Fn::GetAZs": () => ["zone-a", "zone-b", "zone-c"],
  "Fn::Cidr": (args, scope) => {
    const [block, count] = evaluate(args, scope) as [string, number];
    return Array.from({ length: count }, (_, index) => `${block}#${index}`);
  },
  "Fn::Equals": (args, scope) => {
    const [left, right] = evaluate(args, scope) as [unknown, unknown];
    return String(left) === String(right);
  },
  "Fn::Not": (args, scope) => !(evaluate(args, scope) as [boolean])[0],
  "Fn::And": (args, scope) => (evaluate(args, scope) as boolean[]).every(Boolean),
  "Fn::Or": (args, scope) => (evaluate(args, scope) as boolean[]).some(Boolean),
  Condition: (name, { conditions }) => conditions[String(name)],
};

/** The value as CloudFormation would have it; what is left out is gone. */
export function evaluate(value: unknown, scope: Scope): unknown {
  if (Array.isArray(value)) return value.map((each) => evaluate(each, scope)).filter((each) => each !== NOTHING);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  const [[name, args] = ["", undefined]] = entries;
  if (entries.length === 1 && (name.startsWith("Fn::") || name === "Ref" || isCondition(name, args))) {
    const worked = functions[name];
    if (!worked) throw new Error(`this template uses ${name}, which nobody has tried`);
    return worked(args, scope);
  }
  const kept = entries
    .map(([key, each]) => [key, evaluate(each, scope)] as const)
    .filter(([, each]) => each !== NOTHING);
  return Object.fromEntries(kept);
}

/** A policy's conditions are objects. */
function isCondition(name: string, args: unknown): boolean {
  return name === "Condition" && typeof args === "string";
}

function there(name: string, resources: ReadonlySet<string>): string {
  if (!resources.has(name)) throw new Error(`${name} is asked for, but will not be there`);
  return name;
}
