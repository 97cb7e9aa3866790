import { type RunningService, type ServiceOptions, startService } from "../../src/app.ts";
import { openPlatform } from "../../src/compose/platform.ts";
import { log } from "../../src/log.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { type FollowedClock, fleetPlace, fleetRoles, onFleet } from "./fleet.ts";
import { temporaryFolder } from "./leftovers.ts";
import type { TenantKey } from "./tenant-key.ts";

export const testKey = "key-of-the-tests";

export interface TestService extends AsyncDisposable {
  /** Of a fleet, the next API each time. */
  readonly url: string;
  readonly port: number;
  /** How many take requests, in turn; each has its own slots. */
  readonly apis: number;
  /** What links begin with; of a fleet, its first API's. */
  publicUrl: string;
  /** The log's lines so far, parsed. */
  lines: Record<string, unknown>[];
  service: Pick<RunningService, "stop">;
  /** fetch with the key. */
  call(path: string, init?: RequestInit): Promise<Response>;
  scan(bytes: Uint8Array | string): Promise<Response>;
}

interface Options extends Omit<ServiceOptions, "timings"> {
  /** Made in the platform's store before it starts. */
  tenantKeys?: readonly TenantKey[];
}

/**
 * The real service on a free port of the loopback interface, in this process. Where journeys run on a fleet, it is two APIs and
 * three workers on one database, or one process of the role that was asked for.
 */
export async function testService(
  settings: Partial<Settings>,
  timings: ServiceOptions["timings"] = {},
  options: Options = {},
): Promise<TestService> {
  const { dataDir } = settings;
  const lines: Record<string, unknown>[] = [];
  await using undo = new AsyncDisposableStack();
  const given = { dataDir: dataDir || undo.use(temporaryFolder()).path, apiKeys: [testKey], ...settings };
  const running: RunningService[] = [];
  let clock: FollowedClock | undefined;
  undo.defer(async () => void (await Promise.all(running.map((each) => each.stop(1000)))));
  const start = async (each: Partial<Settings>): Promise<void> => {
    const { tenantKeys = [], ...rest } = options;
    const open = rest.openPlatform ?? openPlatform;
    const withKeys: typeof openPlatform = async (...args) => {
      const platform = await open(...args);
      for (const { stored } of tenantKeys) await platform.access.addKey(stored);
      return platform;
    };
    running.push(
      await startOne({ ...given, ...each }, lines, {
        ...rest,
        ...(tenantKeys.length > 0 && { openPlatform: withKeys }),
        timings: { lingerMs: 200, ...timings },
      }),
    );
  };

  if (onFleet && settings.platform === undefined && !options.openPlatform) {
    const place = await fleetPlace(given.dataDir);
    if (options.now) clock = undo.use(place.follow(options.now));
    const { role } = settings;
    const [first, ...others] = role === undefined || role === "all" ? fleetRoles : [role];
    const fleet = { ...place.settings, ...(first && { role: first }) };
    await start(fleet);
    // What a balancer before the APIs is called, for links.
    const publicUrl = settings.publicUrl || `http://127.0.0.1:${running[0]?.port}`;
    for (const each of others)
      await start({ ...fleet, role: each, publicUrl, ...(each === "worker" && { apiKeys: [] }) });
  } else {
    await start({});
  }

  const all = undo.move();
  const ports = running.slice(0, running.length > 1 ? 2 : 1).map(({ port }) => port);
  let asked = 0;
  const nextPort = (): number => ports[asked++ % ports.length] ?? 0;
  const scheme = settings.tlsCert ? "https" : "http";
  const nextUrl = (): string => `${scheme}://127.0.0.1:${nextPort()}`;
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    await clock?.sync();
    return fetch(`${nextUrl()}${path}`, { ...init, headers: { Authorization: `Bearer ${testKey}`, ...init.headers } });
  };
  return {
    publicUrl: `${scheme}://127.0.0.1:${ports[0]}`,
    get url() {
      return nextUrl();
    },
    get port() {
      return nextPort();
    },
    apis: ports.length,
    lines,
    service: {
      async stop(...how) {
        await Promise.all(running.map((each) => each.stop(...how)));
      },
    },
    call,
    scan: (bytes) =>
      call("/api/v1/scan/sync/binary", {
        method: "POST",
        headers: { "Content-Type": "application/octet-stream" },
        body: typeof bytes === "string" ? bytes : Buffer.from(bytes),
      }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function startOne(
  settings: Partial<Settings>,
  lines: Record<string, unknown>[],
  options: ServiceOptions,
): Promise<RunningService> {
  const read = readSettings({ flags: {}, env: {}, file: {} });
  if (read.kind !== "ok") throw new Error("the defaults do not parse");
  return startService(
    {
      ...read.settings,
      host: "127.0.0.1",
      port: 0,
      engine: "Q",
      allowNetworks: ["127.0.0.0/8"],
      allowCallbackNetworks: ["127.0.0.0/8"],
      ...settings,
    },
    log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) }),
    options,
  );
}
