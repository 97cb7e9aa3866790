import type { EventBus } from "../../deliver/event-bus.ts";
import { outboxBus } from "../shared/messages/publishing.ts";
import type { BusTarget } from "../shared/messages/subscriptions.ts";
import type { JobStore } from "./job-store.ts";

/** There is no event service: events wait in the database until a fan-out has sent them. */
export function postgresBus({ outbox }: Pick<JobStore, "outbox">, targets: readonly BusTarget[]): EventBus {
  return outboxBus({ outbox, targets });
}
