import { availableParallelism } from "node:os";
import { CONCURRENT_REQUESTS_P_PER_VCPU, CONCURRENT_REQUESTS_Q } from "@lazaret/contract";
import type { Engine } from "../scan/engine.ts";
import { withArchiveLook } from "../scan/with-archive-look.ts";
import type { ClamdAddress } from "./clamd/address.ts";
import { clamd } from "./clamd/clamd.ts";

/** What the spec's two engine variants are made of. */
export type Variant = "P" | "Q";

/** Files scanned at once by the synchronous API, unless an operator says otherwise. */
export function concurrencyOf(variant: Variant, vcpus: number = availableParallelism()): number {
  return variant === "Q" ? CONCURRENT_REQUESTS_Q : vcpus * CONCURRENT_REQUESTS_P_PER_VCPU;
}

/** Variant Q: ClamAV, believed where our look at the archive's directory agrees. */
export function engineQ(address: ClamdAddress, concurrency: number): Engine {
  return withArchiveLook(clamd({ address, concurrency }));
}
