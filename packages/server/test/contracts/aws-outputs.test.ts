import { awsPlatform } from "../../src/platforms/aws/platform.ts";
import { type AwsStandIn, awsStandIn } from "../support/aws/aws-stand-in.ts";
import { findingsInbox } from "../support/aws/findings-inbox.ts";
import { ServiceError } from "../support/aws/json-services.ts";
import { rawChecks } from "../support/aws/raw-checks.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { bookmarksContract } from "./bookmarks.ts";
import { eventBusContract } from "./event-bus.ts";
import { findingsTopicContract } from "./findings-topic.ts";
import type { Outputs, OutputsKind, ReceivedEvent, ReceivedFinding } from "./outputs.ts";
import { signingKeysContract, stackName } from "./signing-keys.ts";

const aws: AwsStandIn = await awsStandIn();
atTheEnd(() => aws[Symbol.asyncDispose]());

/** Nobody listens there. */
const NOBODY = "http://127.0.0.1:1";

interface Place {
  name: string;
  dataDir: string;
  inbox: Awaited<ReturnType<typeof findingsInbox>>;
  /** What the inbox has got so far: a message is received once. */
  received: ReceivedFinding[];
}

async function open(place: Place, endpoint = aws.endpoint): Promise<Outputs> {
  const { name, dataDir, inbox, received } = place;
  const platform = await awsPlatform({
    endpoint,
    region: "us-east-1",
    stackName,
    queueUrl: `${aws.endpoint}/${name}`,
    deadLettersUrl: `${aws.endpoint}/${name}-dead`,
    tableName: name,
    topicArn: inbox.topicArn,
    busName: name,
    signingSecret: name,
    sealingSecret: `${name}-sealing`,
    dataDir,
    checks: rawChecks,
    now: Date.now,
  });
  return {
    platform,
    async topicFindings() {
      for (const { text, attributes } of await inbox.receive()) {
        const values = Object.entries(attributes).map(([key, { Value }]) => [key, Value]);
        received.push({ text, attributes: Object.fromEntries(values) });
      }
      return received;
    },
    async events() {
      const events = aws.json.events.filter(({ EventBusName }) => EventBusName === name);
      return events.map(
        ({ Source, DetailType, Detail }) =>
          ({ source: Source, "detail-type": DetailType, detail: JSON.parse(Detail) }) as ReceivedEvent,
      );
    },
    parameter: async (key) => aws.json.parameters.get(key),
    putParameter: async (key, value) => aws.json.putParameter(key, value),
    privateKey: {
      get: async () => aws.json.secrets.get(name)?.value,
      put: async (text) => aws.json.putSecret(name, text),
      async deny() {
        aws.json.fault = (operation) =>
          operation.startsWith("secretsmanager.") ? new ServiceError("AccessDeniedException") : undefined;
      },
    },
    another: () => open(place),
    unwritable: () => open(place, NOBODY),
    async [Symbol.asyncDispose]() {
      aws.json.fault = () => undefined;
      await platform.close();
    },
  };
}

let places = 0;
const kind: OutputsKind = {
  name: "the AWS platform",
  async make() {
    places += 1;
    aws.json.forget();
    const inbox = await findingsInbox(aws.endpoint);
    const folder = temporaryFolder();
    const outputs = await open({ name: `place-${places}`, dataDir: folder.path, inbox, received: [] });
    return {
      ...outputs,
      async [Symbol.asyncDispose]() {
        await outputs[Symbol.asyncDispose]();
        inbox[Symbol.dispose]();
        folder[Symbol.dispose]();
      },
    };
  },
};

findingsTopicContract(kind);
eventBusContract(kind);
signingKeysContract(kind);
bookmarksContract(kind);
