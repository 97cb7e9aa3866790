import { addressGuard } from "../../../src/net/address-guard.ts";
import { problemWithNames } from "../../../src/platforms/aws/objects/object-identity.ts";
import type { RawChecks } from "../../../src/platforms/aws/raw-messages.ts";

const guard = addressGuard({ allowNetworks: [], allowHosts: [] });

function problemWith(url: string): string | undefined {
  const destination = guard.checkUrl(url);
  return destination.kind === "allowed" ? undefined : destination.message;
}

/** As the service has them. */
export const rawChecks: RawChecks = {
  object: problemWithNames,
  download: problemWith,
  callback: problemWith,
  allowHttpCallbacks: false,
  allowDownloads: true,
};
