import type { FittedAttributes, FittedMessage } from "@lazaret/contract";

/** Where the results of object scans are told to whoever subscribed. Passes test/contracts/findings-topic.ts. */
export interface FindingsTopic {
  /** Durable when it resolves, and does not wait for subscribers. Called again with the same id after a crash. */
  publish(finding: PublishedFinding): Promise<void>;
}

export interface PublishedFinding {
  /** The same for the same result, so that subscribers can tell a repetition. */
  id: string;
  message: FittedMessage;
  attributes: FittedAttributes;
  /** With an installation so old that it knows no JSON here, everybody gets the words that emails have. */
  body: "json" | "text";
}
