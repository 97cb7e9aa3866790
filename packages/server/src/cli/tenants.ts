import { Command, InvalidArgumentError } from "commander";
import type { AccessStore, Limits, Tenant } from "../access/access-store.ts";
import { bucketProblem, parseWeight } from "../access/limits.ts";
import { CannotStart } from "../compose/cannot-start.ts";
import { addLimitFlags, chosenLimits, inTenantsFile, type LimitFlags } from "./access-flags.ts";
import { record } from "./audit.ts";
import { DATA_DIR, found, localStore } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { tenantName } from "./flag-values.ts";
import { print, say, table } from "./terminal/output.ts";

const MOST_TRIES = 20;

interface Flags extends LimitFlags {
  dataDir?: string;
  json?: boolean;
  weight?: number;
  buckets?: readonly string[];
}

export function tenantsCommand(): Command {
  const command = new Command("tenants").description("whose keys and jobs there are: their shares, limits and buckets");
  command
    .command("list")
    .description("every tenant that was declared or has a key")
    .option(...DATA_DIR)
    .option("--json", "as JSON")
    .action(listTenants);
  command
    .command("show")
    .argument("<tenant>", "its name", tenantName)
    .description("one tenant as JSON, with the names of its keys")
    .option(...DATA_DIR)
    .action(showTenant);
  const set = command
    .command("set")
    .argument("<tenant>", "its name", tenantName)
    .description("declare a tenant, or change what is named here; the rest stays")
    .option(...DATA_DIR)
    .option("--weight <number>", "its share compared with others, when all of them wait", weight)
    .option("--buckets <patterns>", "the buckets it may have scanned, comma-separated, * for anything", buckets);
  addLimitFlags(set).action(setTenant);
  command
    .command("remove")
    .argument("<tenant>", "its name", tenantName)
    .description("forget its share, limits and buckets; its keys, jobs and results stay")
    .option(...DATA_DIR)
    .action(removeTenant);
  return withExamples(
    command,
    [
      ["tenants set shop --weight 2 --requests-per-second 50 --bytes-per-month 500GB", ""],
      ["tenants set shop --buckets 'shop-*,common'", "others are treated as if they did not exist"],
      ["tenants set shop --requests-per-second none", "removes that limit"],
      ["tenants list", ""],
      ["tenants show shop", ""],
      ["tenants remove shop", ""],
    ],
    [
      "Every process applies changes within 10 seconds. A tenant need not be declared to have keys: then it has a weight of 1 and no limits.",
    ],
  );
}

interface Shown extends Tenant {
  /** Names. */
  keys: readonly string[];
  declared: "by command" | "in the file" | "no";
}

async function allTenants(access: AccessStore, flags: Flags): Promise<Shown[]> {
  const [stored, file] = [await access.read(), await inTenantsFile(flags)];
  const keys = [...stored.keys, ...file.keys];
  const names = new Set([...stored.tenants, ...file.tenants].map(({ name }) => name));
  for (const { tenant } of keys) names.add(tenant);
  return [...names].toSorted().map((name) => {
    const isIt = (tenant: Tenant): boolean => tenant.name === name;
    const [inFile, byCommand] = [file.tenants.find(isIt), stored.tenants.find(isIt)];
    const own = keys.filter(({ tenant }) => tenant === name).map((key) => key.name);
    const declared = inFile ? "in the file" : byCommand ? "by command" : "no";
    return { name, weight: 1, limits: {}, ...(inFile ?? byCommand), keys: [...new Set(own)], declared };
  });
}

async function listTenants(flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  const tenants = await allTenants(store.access, flags);
  if (flags.json) return print(tenants);
  const row = ({ name, weight, limits, buckets, keys, declared }: Shown): string[] => [
    name,
    String(weight),
    inWords(limits) || "-",
    buckets?.join(",") ?? "all",
    keys.join(",") || "-",
    declared,
  ];
  print(table(["TENANT", "WEIGHT", "LIMITS", "BUCKETS", "KEYS", "DECLARED"], tenants.map(row)));
}

async function showTenant(name: string, flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  const tenants = await allTenants(store.access, flags);
  print(
    found(
      tenants.find((each) => each.name === name),
      `tenant ${name}`,
      "lazaret tenants list",
    ),
  );
}

async function setTenant(name: string, flags: Flags): Promise<void> {
  const file = await inTenantsFile(flags);
  if (file.tenants.some((tenant) => tenant.name === name)) throw file.cannotChange(`the tenant ${name}`);
  await using store = await localStore(flags, { make: true });
  // Another operator may change other things of it at this moment: what they did stays.
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const before = (await store.access.read()).tenants.find((tenant) => tenant.name === name);
    const tenant = changed(before ?? { name, weight: 1, limits: {} }, flags);
    const details = { weight: tenant.weight, buckets: tenant.buckets?.join(",") ?? "all", ...plain(tenant.limits) };
    await record(store.audit, { what: "tenants.set", on: name, details });
    if (!(await store.access.putTenant(tenant, before))) continue;
    return say(
      `${name}: weight ${tenant.weight}, ${inWords(tenant.limits) || "no limits"}, buckets ${details.buckets}\n`,
    );
  }
  throw new CannotStart(`others change the tenant ${name} all the time`, "try once more");
}

/** What the flags name is changed, the rest stays. */
function changed({ buckets: before, ...tenant }: Tenant, flags: Flags): Tenant {
  const buckets = flags.buckets ?? before;
  return {
    ...tenant,
    weight: flags.weight ?? tenant.weight,
    limits: chosenLimits(flags, tenant.limits),
    ...(buckets && buckets.length > 0 && { buckets }),
  };
}

async function removeTenant(name: string, flags: Flags): Promise<void> {
  const file = await inTenantsFile(flags);
  if (file.tenants.some((tenant) => tenant.name === name)) throw file.cannotChange(`the tenant ${name}`);
  await using store = await localStore(flags);
  const { keys, tenants } = await store.access.read();
  if (!tenants.some((tenant) => tenant.name === name)) {
    throw new CannotStart(`no tenant ${name} was declared`, "lazaret tenants list shows what there is");
  }
  await record(store.audit, { what: "tenants.remove", on: name });
  await store.access.removeTenant(name);
  const left = keys.filter(({ tenant }) => tenant === name).length;
  say(`${name} is forgotten: weight 1, no limits, all buckets\n`);
  if (left > 0) say(`hint: it still has ${left} key${left === 1 ? "" : "s"}, lazaret keys revoke takes them away\n`);
}

function inWords(limits: Limits): string {
  return Object.entries(limits)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function plain(limits: Limits): Record<string, number> {
  return limits as Record<keyof Limits, number>;
}

function weight(text: string): number {
  const parsed = parseWeight(text);
  if ("value" in parsed) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}.`);
}

/** `all` takes the list away. */
function buckets(text: string): string[] {
  const patterns = text.split(",").map((pattern) => pattern.trim());
  if (text === "all") return [];
  const problem = patterns.map(bucketProblem).find((each) => each !== undefined);
  if (problem !== undefined) throw new InvalidArgumentError(`Each ${problem}, or all.`);
  return patterns;
}
