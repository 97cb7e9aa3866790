import { MOST_TENANTS } from "./metrics.ts";
import { OTHER_TENANTS } from "./model/tenant.ts";

/** A metric in Prometheus's text: its two lines of comment, and its values by labels. */
interface Family {
  comments: string[];
  counter: boolean;
  values: Map<string, number>;
}

/** The metrics of several processes as those of one service: what has the same name and labels is added up. */
export function addUp(texts: readonly string[]): string {
  const all = new Map<string, Family>();
  for (const text of texts) {
    for (const [name, family] of familiesOf(text)) {
      const sums = all.get(name);
      if (!sums) all.set(name, family);
      else for (const [key, value] of family.values) add(sums, key, value);
    }
  }
  for (const family of all.values()) boundTenants(family);
  return textOf(all.values());
}

function add({ values }: Family, key: string, value: number): void {
  values.set(key, (values.get(key) ?? 0) + value);
}

/** Each process has as many tenants with a label as there may be in the sum, and perhaps others than the next. */
function boundTenants(family: Family): void {
  const labelled = new Set<string>();
  for (const [key, value] of [...family.values]) {
    const tenant = TENANT_LABEL.exec(key)?.[1];
    if (tenant === undefined || tenant === OTHER_TENANTS) continue;
    if (labelled.size < MOST_TENANTS) labelled.add(tenant);
    if (labelled.has(tenant)) continue;
    family.values.delete(key);
    add(family, key.replace(TENANT_LABEL, `{tenant="${OTHER_TENANTS}"`), value);
  }
}

const TENANT_LABEL = /\{tenant="([^"]*)"/;
const OF_TENANTS = /^lazaret_tenant_/;

/** What anybody may read, and what is told to an operator: which tenants there are is nobody else's business. */
export function parted(text: string): { open: string; tenants: string } {
  const parts = Map.groupBy(familiesOf(text), ([name]) => (OF_TENANTS.test(name) ? "tenants" : "open"));
  const textOfPart = (part: "open" | "tenants"): string => textOf((parts.get(part) ?? []).map(([, family]) => family));
  return { open: textOfPart("open"), tenants: textOfPart("tenants") };
}

/** What stays true of a process that is gone: what it counted, not how it stood. */
export function countersOf(text: string): string {
  return textOf([...familiesOf(text).values()].filter(({ counter }) => counter));
}

function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  const familyOf = (name: string): Family => {
    const family = families.get(name) ?? { comments: [], counter: false, values: new Map() };
    families.set(name, family);
    return family;
  };
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [mark, , name = "", kind] = line.split(" ", 4);
    if (mark === "#") {
      const family = familyOf(name);
      family.comments.push(line);
      if (line.startsWith("# TYPE ")) family.counter = kind === "counter";
      continue;
    }
    // Labels may hold spaces, a value does not.
    const end = line.lastIndexOf(" ");
    const key = line.slice(0, end);
    familyOf(/^[^{ ]*/.exec(key)?.[0] ?? "").values.set(key, Number(line.slice(end + 1)));
  }
  return families;
}

function textOf(families: Iterable<Family>): string {
  return [...families]
    .flatMap(({ comments, values }) => [...comments, ...[...values].map(([key, value]) => `${key} ${value}`)])
    .map((line) => `${line}\n`)
    .join("");
}
