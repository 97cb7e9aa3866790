import { outboundGuards } from "../net/address-guard.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Settings } from "../settings.ts";
import { awsOptions } from "./aws-settings.ts";

/** Jobs and dead letters on AWS, for an operator's eyes. */
export async function awsOperatorStore(
  settings: Settings,
): Promise<Pick<Platform, "deadLetters" | "browser"> & AsyncDisposable> {
  const { awsPlatform } = await import("../platforms/aws/platform.ts");
  const platform = await awsPlatform(
    awsOptions(settings, { ...outboundGuards(settings), problemWith: () => undefined, now: Date.now }),
  );
  return { ...platform, [Symbol.asyncDispose]: () => platform.close() };
}
