import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { guardedConnector } from "../../src/net/guarded-connector.ts";
import { embeddedPlatform } from "../../src/platforms/embedded/platform.ts";
import type { SendingParts } from "../../src/platforms/shared/messages/fan-out.ts";
import { parseEventTargets, parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import { USUAL_RETENTION } from "../../src/platforms/shared/retention.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { bookmarksContract } from "./bookmarks.ts";
import { eventBusContract, seen } from "./event-bus.ts";
import { findingsTopicContract } from "./findings-topic.ts";
import type { Outputs, OutputsKind, ReceivedEvent } from "./outputs.ts";
import { signingKeysContract, stackName } from "./signing-keys.ts";

interface Place {
  dataDir: string;
  /** Of one who subscribed over HTTP, besides the file: who is slow to answer holds up nobody. */
  origin: string;
}

const log = Object.assign(() => {}, { error: () => {}, debug: () => {} });

/** One process on the data folder; it sends only if it is told how. */
function start({ dataDir, origin }: Place, sending?: SendingParts): ReturnType<typeof embeddedPlatform> {
  const receivers = (name: string, more: object): string =>
    JSON.stringify([
      { protocol: "file", endpoint: `${name}.jsonl`, ...more },
      { protocol: "http", endpoint: `${origin}/${name}` },
    ]);
  const subscriptions = parsed(parseSubscriptions(receivers("findings", { format: "envelope" })));
  const targets = parsed(parseEventTargets(receivers("events", {})));
  const fanOut = { subscriptions, targets, sending };
  return embeddedPlatform({ dataDir, stackName, now: Date.now, log, kept: USUAL_RETENTION, fanOut });
}

async function open(place: Place): Promise<Outputs> {
  const { dataDir } = place;
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

  const key = join(dataDir, "callback-signing-key.pem");
  const parameterFile = (name: string): string => join(dataDir, "parameters", name);
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
    parameter: (name) => readFile(parameterFile(name), "utf8").catch(() => undefined),
    putParameter: (name, value) => writeFile(parameterFile(name), value),
    privateKey: {
      get: () => readFile(key, "utf8").catch(() => undefined),
      async put(text) {
        await mkdir(dirname(key), { recursive: true });
        await writeFile(key, text, { mode: 0o600 });
      },
      // Root may read everything, but not a folder.
      async deny() {
        await rm(key);
        await mkdir(key);
      },
    },
    another: () => open(place),
    async unwritable() {
      const locked = await open(place);
      const lock = new DatabaseSync(join(dataDir, "jobs.db"), { timeout: 10_000 });
      lock.exec("BEGIN IMMEDIATE");
      return {
        ...locked,
        async [Symbol.asyncDispose]() {
          lock.close();
          await locked[Symbol.asyncDispose]();
        },
      };
    },
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

const embedded: OutputsKind = {
  name: "the embedded platform",
  async make() {
    await using undo = new AsyncDisposableStack();
    const folder = undo.use(temporaryFolder());
    const receiver = undo.use(await callbackReceiver(answering(200)));
    const outputs = await open({ dataDir: folder.path, origin: receiver.origin });
    undo.use(outputs);
    const all = undo.move();
    return { ...outputs, [Symbol.asyncDispose]: () => all.disposeAsync() };
  },
};

function parsed<T>(setting: { value: T } | { problem: string }): T {
  if ("problem" in setting) throw new Error(setting.problem);
  return setting.value;
}

findingsTopicContract(embedded);
eventBusContract(embedded);
signingKeysContract(embedded);
bookmarksContract(embedded);
