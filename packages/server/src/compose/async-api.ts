import type { PublicKeys } from "../deliver/signing-keys.ts";
import type { Log } from "../log.ts";
import { outboundGuards } from "../net/address-guard.ts";
import { newJobId } from "../queue/job-queue.ts";
import { api } from "../receive/api.ts";
import { asyncHandlers } from "../receive/async-routes.ts";
import type { Answer, ApiRequest } from "../receive/exchange.ts";
import { familyHandlers } from "../receive/family-routes.ts";
import { keyHandlers } from "../receive/key-routes.ts";
import { routes } from "../receive/routes.ts";
import { serviceHandlers } from "../receive/service-routes.ts";
import { submitJob } from "../receive/submit-job.ts";
import { versionHandlers } from "../receive/version-route.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { startKeys } from "./api-keys.ts";
import { installationOf } from "./installation.ts";
import { objectAddress } from "./object-address.ts";
import { objectStore } from "./object-store.ts";
import { openPlatform } from "./platform.ts";

/** How old the public keys may be that are told: anybody may ask for them. */
const KEYS_MS = 60_000;

/** The asynchronous endpoints without an engine: what takes jobs in where others work them off, such as in a function. */
export async function startAsyncApi(
  settings: Settings,
  log: Log,
  now: () => number = Date.now,
): Promise<{ handle(request: ApiRequest): Promise<Answer> } & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const { guard, callbackGuard } = outboundGuards(settings);
  const objects = await objectStore(settings, { now, ownUrl: () => settings.publicUrl });
  undo.defer(() => objects.close());
  const platform = await openPlatform({ ...settings, role: "api" }, log, { guard, callbackGuard, objects, now });
  undo.defer(() => platform.close());
  const keys = undo.use(await startKeys(settings, log));
  const installation = installationOf(settings);
  const handlers = {
    ...asyncHandlers({
      checkDestination: guard.checkUrl,
      checkCallback: callbackGuard.checkUrl,
      checkObject: objects.problemWith,
      objectAddress: objectAddress(objects),
      allowHttpCallbacks: settings.allowHttpCallbacks,
      tenantId: platform.tenantId,
      submit: submitJob({ add: platform.queue.add, newId: newJobId, now }),
      installation,
      downloads: settings.downloads,
      findResult: platform.results.find,
    }),
    ...familyHandlers({
      tenantId: platform.tenantId,
      scansThisMonth: platform.usage.thisMonth,
      monthlyQuota: settings.monthlyQuota,
      callbackFailures: platform.callbackFailures.list,
    }),
    ...keyHandlers({
      publicKeys: settings.signCallbackInvocations ? publishedKeys(platform.signingKeys, now) : async () => undefined,
    }),
    ...versionHandlers({ version, installation }),
    ...serviceHandlers({
      metrics: async () => "",
      readiness: async () => ({ ready: true, checks: [{ name: "service", ok: true, detail: `lazaret ${version}` }] }),
    }),
  };
  const serving = { role: "api", scans: false, folders: false } as const;
  const all = undo.move();
  return {
    handle: api({ routes: routes(serving, handlers, { version }), auth: keys.auth }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Reads what workers have published: this process signs nothing, and has no right to the private key. */
function publishedKeys(
  keys: { published(): Promise<PublicKeys | undefined> },
  now: () => number,
): () => Promise<PublicKeys | undefined> {
  let known: { keys: PublicKeys; at: number } | undefined;
  return async () => {
    if (known && Math.abs(now() - known.at) < KEYS_MS) return known.keys;
    const found = await keys.published();
    known = found && { keys: found, at: now() };
    return found;
  };
}
