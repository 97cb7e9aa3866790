import type { FindingsTopic } from "../../deliver/findings-topic.ts";
import { type OutboxTopicOptions, outboxTopic } from "../shared/messages/publishing.ts";
import type { JobStore } from "./job-store.ts";

/** There is no topic service: findings wait in the database until a fan-out has sent them. */
export function postgresTopic(
  { outbox }: Pick<JobStore, "outbox">,
  options: Omit<OutboxTopicOptions, "outbox">,
): FindingsTopic {
  return outboxTopic({ outbox, ...options });
}
