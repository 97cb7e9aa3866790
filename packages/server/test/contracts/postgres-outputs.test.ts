import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { guardedConnector } from "../../src/net/guarded-connector.ts";
import type { JobStoreOptions } from "../../src/platforms/postgres/job-store.ts";
import { postgresPlatform } from "../../src/platforms/postgres/platform.ts";
import { CALLBACK_KEY } from "../../src/platforms/postgres/signing-keys.ts";
import type { SendingParts } from "../../src/platforms/shared/messages/fan-out.ts";
import { parseEventTargets, parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import { sealer } from "../../src/platforms/shared/sealed.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { newSchema, sharedPostgres, type TestPostgres } from "../support/postgres.ts";
import { takingNoWrites } from "../support/postgres-stores.ts";
import { bookmarksContract } from "./bookmarks.ts";
import { eventBusContract, seen } from "./event-bus.ts";
import { findingsTopicContract } from "./findings-topic.ts";
import type { Outputs, OutputsKind, ReceivedEvent } from "./outputs.ts";
import { signingKeysContract, stackName } from "./signing-keys.ts";

interface Place {
  server: TestPostgres;
  options: JobStoreOptions;
  /** Where the subscribers' files are. */
  dataDir: string;
}

const log = Object.assign(() => {}, { error: () => {}, debug: () => {} });

/** One process on the database; it sends only if it is told how. */
function start({ options }: Place, sending?: SendingParts): ReturnType<typeof postgresPlatform> {
  const receivers = (name: string, more: object): string =>
    JSON.stringify([{ protocol: "file", endpoint: `${name}.jsonl`, ...more }]);
  const subscriptions = parsed(parseSubscriptions(receivers("findings", { format: "envelope" })));
  const targets = parsed(parseEventTargets(receivers("events", {})));
  const fanOut = { receivers: { subscriptions, targets }, sending: async () => sending };
  return postgresPlatform({ ...options, stackName, now: Date.now, log, ...fanOut });
}

async function open(place: Place): Promise<Outputs> {
  const { dataDir, server, options } = place;
  const { schema } = options;
  const secrets = sealer(options.secretKey);
  const platform = await start(place);
  const all = new AsyncDisposableStack();
  all.defer(platform.close);
  let sender: Promise<unknown> | undefined;

  /** A process that starts when somebody looks, and sends what others have published. */
  async function linesOf(name: string): Promise<unknown[]> {
    sender ??= start(place, sendingIn(dataDir)).then((started) => all.defer(started.close));
    await sender;
    const path = join(dataDir, name);
    if (!existsSync(path)) return [];
    const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  async function one<Row>(sql: string, values: unknown[]): Promise<Row | undefined> {
    return (await server.sql<Row>(sql, values))[0];
  }

  return {
    platform,
    async topicFindings() {
      const envelopes = (await linesOf("findings.jsonl")) as Envelope[];
      return envelopes.map(({ Message, MessageAttributes }) => ({
        text: Message,
        attributes: Object.fromEntries(Object.entries(MessageAttributes).map(([name, { Value }]) => [name, Value])),
      }));
    },
    events: async () => ((await linesOf("events.jsonl")) as ReceivedEvent[]).map(seen),
    async parameter(name) {
      return (await one<{ value: string }>(`SELECT value FROM ${schema}.parameters WHERE name = $1`, [name]))?.value;
    },
    async putParameter(name, value) {
      await server.sql(`UPDATE ${schema}.parameters SET value = $2 WHERE name = $1`, [name, value]);
    },
    privateKey: {
      async get() {
        const found = await one<{ sealed: Buffer }>(`SELECT sealed FROM ${schema}.signing_keys`, []);
        return found && secrets.unseal(found.sealed, ["key", CALLBACK_KEY]);
      },
      async put(text) {
        await server.sql(
          `INSERT INTO ${schema}.signing_keys VALUES ($1, 0, $2) ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`,
          [CALLBACK_KEY, secrets.seal(text, ["key", CALLBACK_KEY])],
        );
      },
      async deny() {
        await server.sql(`UPDATE ${schema}.signing_keys SET sealed = set_byte(sealed, 60, 255 - get_byte(sealed, 60))`);
      },
    },
    another: () => open(place),
    unwritable: () => open({ ...place, options: takingNoWrites(options) }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

interface Envelope {
  Message: string;
  MessageAttributes: Record<string, { Value: string }>;
}

function sendingIn(dataDir: string): SendingParts {
  const connector = (signal: AbortSignal) => guardedConnector({ guard: { mayDial: () => true } }, signal);
  return { dataDir, version: "1.2.3", log, connector };
}

const postgres: OutputsKind = {
  name: "the PostgreSQL platform",
  async make() {
    const server = await sharedPostgres();
    await using undo = new AsyncDisposableStack();
    const folder = undo.use(temporaryFolder());
    const schema = newSchema();
    undo.defer(async () => void (await server.sql(`DROP SCHEMA ${schema} CASCADE`)));
    const options = { url: server.url, pool: 4, schema, secretKey: randomBytes(32), migrate: true };
    const outputs = await open({ server, options, dataDir: folder.path });
    undo.use(outputs);
    const all = undo.move();
    return { ...outputs, [Symbol.asyncDispose]: () => all.disposeAsync() };
  },
};

function parsed<T>(setting: { value: T } | { problem: string }): T {
  if ("problem" in setting) throw new Error(setting.problem);
  return setting.value;
}

findingsTopicContract(postgres);
eventBusContract(postgres);
signingKeysContract(postgres);
bookmarksContract(postgres);
