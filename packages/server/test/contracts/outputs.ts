import type { BusEvent } from "../../src/deliver/event-bus.ts";
import type { Platform } from "../../src/platforms/platform.ts";

/** What a platform brings to the suites of topic, event bus and signing keys: itself, new and empty, and what tests see. */
export interface Outputs extends AsyncDisposable {
  platform: Platform;
  /** What a subscriber of the topic has got so far, sent by a process that started after the findings were published. */
  topicFindings(): Promise<readonly ReceivedFinding[]>;
  /** The same for a target of the event bus. */
  events(): Promise<readonly ReceivedEvent[]>;
  /** As receivers of callbacks read it. */
  parameter(name: string): Promise<string | undefined>;
  putParameter(name: string, value: string): Promise<void>;
  /** As an operator handles it. */
  privateKey: {
    get(): Promise<string | undefined>;
    put(text: string): Promise<void>;
    /** From then on it cannot be read. */
    deny(): Promise<void>;
  };
  /** The same storage seen by another process. This one closed nothing, as if it was killed or stands still. */
  another(): Promise<Outputs>;
  /** The same storage while nothing can be written to it. */
  unwritable(): Promise<Outputs>;
}

export interface OutputsKind {
  name: string;
  make(): Promise<Outputs>;
}

export interface ReceivedFinding {
  /** As it stood in the message: JSON, or words. */
  text: string;
  attributes: Readonly<Record<string, string>>;
}

export type ReceivedEvent = Pick<BusEvent, "source" | "detail-type" | "detail">;
