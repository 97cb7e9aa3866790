import { startKeys } from "./compose/api-keys.ts";
import { startLimits } from "./compose/limits.ts";
import { objectStore, openPlatform } from "./compose/platform.ts";
import { routesOf } from "./compose/routes.ts";
import { startTraces } from "./compose/traces.ts";
import type { PublicKeys } from "./deliver/signing-keys.ts";
import { type Log, log } from "./log.ts";
import { outboundGuards } from "./net/address-guard.ts";
import { KEYS_EVERY_MS } from "./pipeline/limits.ts";
import { usageCount, usedThisMonth } from "./pipeline/usage-count.ts";
import { newJobId } from "./queue/job-queue.ts";
import { api } from "./receive/api.ts";
import { submitJob } from "./receive/async-routes.ts";
import { type LambdaEvent, type LambdaResult, lambdaHandler } from "./receive/lambda-handler.ts";
import type { Answer, ApiRequest } from "./receive/request-answer.ts";
import { readSettings } from "./settings/read-settings.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

/** The asynchronous API as a Lambda function. Started once, when the first request comes. */
let started: Promise<(event: LambdaEvent) => Promise<LambdaResult>> | undefined;

export async function handler(event: LambdaEvent): Promise<LambdaResult> {
  started ??= start().catch((error) => {
    // The next request tries again: what was missing may be there by then.
    started = undefined;
    throw error;
  });
  return (await started)(event);
}

async function start(): Promise<(event: LambdaEvent) => Promise<LambdaResult>> {
  const read = readSettings({ flags: {}, env: process.env, file: {}, defaults: { platform: "aws", role: "api" } });
  if (read.kind !== "ok") {
    throw new Error(
      `the settings have problems: ${read.problems.map(({ name, problem }) => `${name} ${problem}`).join("; ")}`,
    );
  }
  const { settings } = read;
  // Written at once: the function stands still as soon as it has answered.
  const say = log({ level: settings.logLevel, format: "json", write: (line) => process.stdout.write(line) });
  const { handle } = await startAsyncApi(settings, say);
  return lambdaHandler({ handle, log: say });
}

/** The asynchronous endpoints without an engine: what takes jobs in where others work them off, such as in a function. */
export async function startAsyncApi(
  given: Settings,
  log: Log,
  now: () => number = Date.now,
): Promise<{ handle(request: ApiRequest): Promise<Answer> } & AsyncDisposable> {
  const settings = { ...given, role: "api" } as const;
  await using undo = new AsyncDisposableStack();
  const traces = undo.use(await startTraces(settings, log));
  const { guard, callbackGuard } = outboundGuards(settings);
  const objects = await objectStore(settings, { now, ownUrl: () => settings.publicUrl });
  undo.defer(() => objects.close());
  const platform = await openPlatform(settings, log, { guard, callbackGuard, objects, now });
  undo.defer(() => platform.close());
  const keys = undo.use(await startKeys(settings, log, { now }));
  const following = undo.use(await keys.follow(platform, false));
  const usage = usageCount(platform.usage);
  undo.defer(() => usage.close());
  const routes = routesOf(settings, {
    platform,
    objects,
    guard,
    callbackGuard,
    submit: submitJob({ add: platform.queue.add, newId: newJobId, now }),
    usedThisMonth: usedThisMonth(usage),
    publicKeys: settings.signCallbackInvocations ? publishedKeys(platform.signingKeys, now) : async () => undefined,
    metrics: async () => ({ open: "", tenants: "" }),
    readiness: async () => ({ ready: true, checks: [{ name: "service", ok: true, detail: `lazaret ${version}` }] }),
  });
  const limits = undo.use(startLimits({ platform, usage, now }));
  const handle = api({ routes, auth: keys.auth, limiter: limits.limiter, spans: traces?.spans });
  const disposing = undo.move();
  return {
    async handle(request) {
      // Timers stand still with the function: a key that was revoked meanwhile must not be accepted once more.
      await Promise.all([keys.catchUp(), following.catchUp()]);
      const answer = await handle(request);
      // For the same reason. Where nobody is limited nothing is written.
      if (limits.limiter.own() !== undefined) await Promise.all([limits.exchange(), usage.write()]);
      await traces?.flush();
      return answer;
    },
    [Symbol.asyncDispose]: () => disposing.disposeAsync(),
  };
}

/** Reads what workers have published: this process signs nothing, and has no right to the private key. */
function publishedKeys(
  keys: { published(): Promise<PublicKeys | undefined> },
  now: () => number,
): () => Promise<PublicKeys | undefined> {
  let known: { keys: PublicKeys; at: number } | undefined;
  return async () => {
    // Anybody may ask for them.
    if (known && Math.abs(now() - known.at) < KEYS_EVERY_MS) return known.keys;
    const found = await keys.published();
    known = found && { keys: found, at: now() };
    return found;
  };
}
