import type { FindingsTopic } from "../../deliver/findings-topic.ts";
import { type OutboxTopicOptions, outboxTopic } from "../shared/messages/publishing.ts";
import type { JobStore } from "./job-store.ts";

/** There is no topic service: findings wait in the job database until the fan-out has sent them. */
export function sqliteTopic({ outbox }: JobStore, options: Omit<OutboxTopicOptions, "outbox">): FindingsTopic {
  return outboxTopic({ outbox, ...options });
}
