import type { FindingsAttributes, FindingsMessage, FittedAttributes, FittedMessage } from "@lazaret/contract";

/** Where the results of object scans are announced to subscribers. Passes test/contracts/findings-topic.ts. */
export interface FindingsTopic {
  /** Durable when it resolves, and does not wait for subscribers. Called again with the same id after a crash. */
  publish(finding: PublishedFinding): Promise<void>;
}

export interface PublishedFinding {
  /** The same for the same result, so that subscribers recognise a repetition. */
  id: string;
  message: FittedMessage;
  attributes: FittedAttributes;
  /** With an installation so old that it knows no JSON here, everybody gets the words that emails have. */
  body: "json" | "text";
}

/** What subscribers can filter by. Surrogates become `#`, one for each code unit; the body keeps the raw text. */
export function attributesOf(message: FindingsMessage): FindingsAttributes {
  const { custom_data: _, realfiletype: __, size, ...texts } = message;
  const entries = Object.entries(texts).map(([name, value]) => [name, value.replace(/[\ud800-\udfff]/g, "#")]);
  return { ...Object.fromEntries(entries), size };
}
