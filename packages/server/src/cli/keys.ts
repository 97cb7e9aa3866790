import { text as readAll } from "node:stream/consumers";
import { Command } from "commander";
import { SCOPES, type Scope, type StoredKey } from "../access/access-store.ts";
import { addAlone } from "../access/add-alone.ts";
import { newSecret, readSecret, secretDigest } from "../access/api-key.ts";
import type { AuditEntry } from "../access/audit-log.ts";
import { hasEnded, keyFacts, keyInWords, type MadeKey, makeKey } from "../access/make-key.ts";
import { CannotStart } from "../compose/cannot-start.ts";
import { DEFAULT_TENANT, keyNameProblem } from "../model/tenant.ts";
import { addLimitFlags, chosenLimits, type Declared, inTenantsFile, type LimitFlags } from "./access-flags.ts";
import { record } from "./audit.ts";
import { DATA_DIR, localStore } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { wrongUsage } from "./exit-codes.ts";
import { later, tenantName, timeOption } from "./flag-values.ts";
import { bitsOption, type KeyPairFlags, rotateKeyPair, showKeyPair, showPublicKey } from "./signing-keys.ts";
import { ago, out, print, say, table } from "./terminal/output.ts";

interface Flags extends LimitFlags {
  dataDir?: string;
  name?: string;
  tenant?: string;
  scope?: readonly Scope[];
  expires?: number;
  digestOnly?: boolean;
  json?: boolean;
  overlap: number;
}

export function keysCommand(): Command {
  const command = new Command("keys").description(
    "the API keys of teams and programs: make, list and revoke them, without a restart",
  );
  const create = command
    .command("create")
    .description("make a key, and print its secret this once")
    .option(...DATA_DIR)
    .option("--name <name>", "what it is called in logs and lists")
    .option("--tenant <tenant>", "whose it is", tenantName, DEFAULT_TENANT)
    .option("--scope <scopes>", `what it may do, comma-separated: ${SCOPES.join(", ")}`, scopes)
    .option("--expires <time>", "when it ends: after 90d, 12h, or at a date", (text) => later(text))
    .option("--digest-only", "keep nothing: for a digest in LAZARET_TENANTS_FILE");
  addLimitFlags(create).action(createKey);
  command
    .command("list")
    .description("name, tenant, scopes, when it was made and last used, when it ends")
    .option(...DATA_DIR)
    .option("--tenant <tenant>", "those of one tenant", tenantName)
    .option("--json", "as JSON")
    .action(listKeys);
  command
    .command("revoke")
    .argument("<key>", "tenant/name, or its id")
    .description("revoke a key; every process refuses it within 10 seconds")
    .option(...DATA_DIR)
    .action(revokeKey);
  command
    .command("rotate")
    .argument("[key]", "tenant/name, or its id")
    .description("a new secret for a key; the old one works for a while longer")
    .option(...DATA_DIR)
    .addOption(timeOption("--overlap <time>", "how long the old secret works", "24h"))
    .option("--expires <time>", "when the new one ends; by default after as long as the old one was made for", (text) =>
      later(text),
    )
    // What `keys rotate` was for before there were keys with names.
    .addOption(bitsOption().hideHelp())
    .action(async (key: string | undefined, flags: Flags & KeyPairFlags) => {
      if (key !== undefined) return rotateKey(key, flags);
      moved("rotate");
      return rotateKeyPair(flags);
    });
  command
    .command("digest")
    .description("print the digest of a secret for LAZARET_TENANTS_FILE; the secret is read from stdin")
    .action(printDigest);
  addFormerCommands(command);
  return withExamples(
    command,
    [
      ["keys create --name web --tenant shop --scope scan,read --expires 90d > web.key", ""],
      ["keys list --tenant shop", ""],
      ["keys rotate shop/web --overlap 24h > web.key", "both secrets work for a day"],
      ["keys revoke shop/web", ""],
      ["keys digest < web.key", "for LAZARET_TENANTS_FILE"],
    ],
    [
      "Only the secret goes to stdout. Only its SHA-256 is kept.",
      "The keys in LAZARET_API_KEYS are not among these: they belong to the tenant default, and may do everything.",
    ],
  );
}

function addFormerCommands(command: Command): void {
  command
    .command("show", { hidden: true })
    .description("now lazaret signing-keys show")
    .option(...DATA_DIR)
    .option("--json", "as JSON")
    .action((flags: KeyPairFlags) => {
      moved("show");
      return showKeyPair(flags);
    });
  command
    .command("public", { hidden: true })
    .description("now lazaret signing-keys public")
    .option(...DATA_DIR)
    .option("--pkcs1", "as PKCS1 instead")
    .option("--all", "also the earlier ones, so that a receiver accepts both")
    .action((flags: KeyPairFlags) => {
      moved("public");
      return showPublicKey(flags);
    });
}

function moved(verb: string): void {
  say(`lazaret keys ${verb} is now lazaret signing-keys ${verb}\n`);
}

async function createKey(flags: Flags): Promise<void> {
  if (flags.digestOnly) {
    const { id, secret, digest } = newSecret();
    out(`${secret}\n`);
    return say(`digest: ${id}:${digest}\nhint: put the digest into LAZARET_TENANTS_FILE; the secret is kept nowhere\n`);
  }
  const { name, tenant = DEFAULT_TENANT, scope, expires } = flags;
  if (name === undefined || scope === undefined) {
    throw wrongUsage(
      `a key needs ${name === undefined ? "a name" : "a scope"}`,
      "lazaret keys create --name web --tenant shop --scope scan",
    );
  }
  const wrong = keyNameProblem(name, tenant);
  if (wrong !== undefined) throw wrongUsage(`--name ${wrong}`, "lazaret keys create --help shows how it is used");
  const declared = await inTenantsFile(flags);
  await using store = await localStore(flags, { make: true });
  const { keys } = await store.access.read();
  if (
    [...keys, ...declared.keys].some((key) => key.tenant === tenant && key.name === name && !hasEnded(key, Date.now()))
  ) {
    throw new CannotStart(
      `there is a key ${tenant}/${name} already`,
      `lazaret keys rotate ${tenant}/${name} makes a new secret for it, lazaret keys revoke takes it away`,
    );
  }
  const limits = chosenLimits(flags, {});
  const parts = { name, tenant, scopes: scope, limits, ...(expires !== undefined && { expiresAt: expires }) };
  const made = await newKey(store, parts, { what: "keys.create" });
  if (!(await addAlone(store.access, made.key, Date.now()))) {
    throw new CannotStart(
      `somebody else made a key ${tenant}/${name} at this moment`,
      "see lazaret keys list, then try once more",
    );
  }
  show(made);
}

type Store = Awaited<ReturnType<typeof localStore>>;

/** A secret for such a key, with its entry in the audit log: to be kept next. */
async function newKey(
  { audit }: Store,
  parts: Omit<StoredKey, "id" | "digest" | "madeAt" | "madeForMs">,
  { what, details = {} }: Pick<AuditEntry, "what" | "details">,
): Promise<MadeKey> {
  const made = makeKey(parts, Date.now());
  await record(audit, { what, on: keyInWords(made.key), details: { ...keyFacts(made.key), ...details } });
  return made;
}

function show({ key, secret }: MadeKey): void {
  const end = key.expiresAt === undefined ? "" : `, until ${new Date(key.expiresAt).toISOString()}`;
  say(`${keyInWords(key)}: ${key.scopes.join(", ")}${end}; accepted within 10 seconds, and shown this once\n`);
  out(`${secret}\n`);
}

async function listKeys(flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  const { keys } = await store.access.read();
  const declared = (await inTenantsFile(flags)).keys.map((key) => ({ ...key, declared: true }));
  const all = [...keys.filter(({ id }) => !declared.some((other) => other.id === id)), ...declared];
  const shown = all.filter(({ tenant }) => flags.tenant === undefined || tenant === flags.tenant);
  if (flags.json) return print(shown.map(({ digest: _, ...key }) => withDates(key)));
  const now = Date.now();
  const row = (key: StoredKey & { declared?: boolean }): string[] => [
    key.name,
    key.tenant,
    key.scopes.join(","),
    key.declared ? "in the file" : ago(key.madeAt, now),
    key.lastUsedAt === undefined ? "-" : ago(key.lastUsedAt, now),
    key.expiresAt === undefined ? "-" : `${hasEnded(key, now) ? "ended " : ""}${isoDate(key.expiresAt)}`,
    key.id,
  ];
  print(table(["NAME", "TENANT", "SCOPES", "MADE", "LAST USED", "EXPIRES", "ID"], shown.map(row)));
}

async function revokeKey(asked: string, flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  // A mistake in the file must not keep anybody from taking a key away.
  const declared = await inTenantsFile(flags).catch((error: Error) => {
    if (!(error instanceof CannotStart)) throw error;
    say(`${error.message}\nhint: a key that is declared there stays good until it is taken away there\n`);
    return undefined;
  });
  for (const key of await findKeys(store, asked, declared)) {
    await record(store.audit, { what: "keys.revoke", on: keyInWords(key) });
    // Taken away and not only ended: a clock that is behind would accept it for longer.
    await store.access.removeKey(key.id);
    say(`${keyInWords(key)} is revoked; every process refuses it within 10 seconds\n`);
  }
}

async function rotateKey(asked: string, flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  const declared = await inTenantsFile(flags);
  const [one] = await findKeys(store, asked, declared);
  if (!one) return;
  // Also those that are being exchanged already, and as the newest of them is.
  const found = await findKeys(store, `${one.tenant}/${one.name}`, declared);
  const {
    id: before,
    name,
    tenant,
    scopes,
    limits,
    madeForMs,
    expiresAt = Number.POSITIVE_INFINITY,
  } = found.at(-1) ?? one;
  const now = Date.now();
  const until = now + flags.overlap;
  const end = flags.expires ?? (madeForMs === undefined ? undefined : now + madeForMs);
  const goodUntil = new Date(Math.min(until, expiresAt)).toISOString();
  const ending = { before: found.map(({ id }) => id).join(" "), goodUntil };
  // First the new one: whatever happens in between, nobody is locked out.
  const parts = { name, tenant, scopes, limits, ...(end !== undefined && { expiresAt: end }) };
  const made = await newKey(store, parts, { what: "keys.rotate", details: ending });
  if (!(await store.access.addKey(made.key))) {
    throw new CannotStart("this random id is already taken", "try once more");
  }
  show(made);
  for (const { id } of found) await store.access.endKey(id, until);
  if (expiresAt <= now) return say(`the secret of before has ended, ${goodUntil}\n`);
  say(`the secret of before is good until ${goodUntil}; lazaret keys revoke ${before} ends it sooner\n`);
}

/** Those of that name, of which there are several while one is exchanged, or the one of that id. */
async function findKeys(
  { access }: Store,
  asked: string,
  declared: Declared | undefined,
): Promise<readonly StoredKey[]> {
  const isAsked = ({ id, tenant, name }: StoredKey): boolean => id === asked || `${tenant}/${name}` === asked;
  if (declared?.keys.some(isAsked)) throw declared.cannotChange(`the key ${asked}`);
  const { keys } = await access.read();
  const found = keys.filter(isAsked);
  if (found.length > 0) return found;
  if (readSecret(asked.replace(/^.*\//, "")).kind !== "other") {
    throw wrongUsage("that is a secret, and now in the history of this shell", "name the key by tenant/name or its id");
  }
  const [sameName] = keys.filter(({ name }) => name === asked);
  throw new CannotStart(
    `there is no key ${asked} here`,
    sameName
      ? `did you mean ${sameName.tenant}/${sameName.name}? A key is named with its tenant`
      : "lazaret keys list shows what there is",
  );
}

async function printDigest(): Promise<void> {
  const secret = (await readAll(process.stdin)).trim();
  const read = readSecret(secret);
  if (read.kind !== "ours") {
    throw wrongUsage(
      read.kind === "mistyped"
        ? "this secret has a wrong or a missing character"
        : "this is no secret that lazaret keys create made",
      "lazaret keys create --digest-only makes one and prints its digest",
    );
  }
  out(`${read.id}:${secretDigest(secret)}\n`);
}

function scopes(text: string): Scope[] {
  const asked = text.split(",").map((word) => word.trim());
  const wrong = asked.find((word) => !(SCOPES as readonly string[]).includes(word));
  if (wrong !== undefined) {
    throw wrongUsage(`there is no scope ${JSON.stringify(wrong)}`, `the scopes are ${SCOPES.join(", ")}`);
  }
  return SCOPES.filter((scope) => asked.includes(scope));
}

function isoDate(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Times as people and programs read them. */
function withDates(key: Omit<StoredKey, "digest">): Record<string, unknown> {
  const { madeAt, expiresAt, lastUsedAt, madeForMs: _, ...rest } = key;
  const dates = { made: madeAt || undefined, lastUsed: lastUsedAt, expires: expiresAt };
  const written = Object.entries(dates).map(([name, at]) => [
    name,
    at === undefined ? null : new Date(at).toISOString(),
  ]);
  return { ...rest, ...Object.fromEntries(written) };
}
