import { type RunningService, type ServiceOptions, startService } from "../../src/app.ts";
import { log } from "../../src/log.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { temporaryFolder } from "./leftovers.ts";

export const testKey = "key-of-the-tests";

export interface TestService extends AsyncDisposable {
  url: string;
  port: number;
  /** The log's lines so far, parsed. */
  lines: Record<string, unknown>[];
  service: RunningService;
  /** fetch with the key. */
  call(path: string, init?: RequestInit): Promise<Response>;
  scan(bytes: Uint8Array | string): Promise<Response>;
}

/** The real service on a free port of the loopback interface, in this process. */
export async function testService(
  settings: Partial<Settings>,
  timings: ServiceOptions["timings"] = {},
  options: Omit<ServiceOptions, "timings"> = {},
): Promise<TestService> {
  const read = readSettings({ flags: {}, env: {}, file: {} });
  if (read.kind !== "ok") throw new Error("the defaults do not parse");
  const lines: Record<string, unknown>[] = [];
  const folder = settings.dataDir ? undefined : temporaryFolder();
  const service = await startService(
    {
      ...read.settings,
      host: "127.0.0.1",
      port: 0,
      engine: "Q",
      dataDir: folder?.path ?? "",
      apiKeys: [testKey],
      allowNetworks: ["127.0.0.0/8"],
      allowCallbackNetworks: ["127.0.0.0/8"],
      ...settings,
    },
    log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) }),
    { ...options, timings: { lingerMs: 200, ...timings } },
  ).catch((error) => {
    folder?.[Symbol.dispose]();
    throw error;
  });
  const scheme = settings.tlsCert ? "https" : "http";
  const url = `${scheme}://127.0.0.1:${service.port}`;
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, { ...init, headers: { Authorization: `Bearer ${testKey}`, ...init.headers } });
  return {
    url,
    port: service.port,
    lines,
    service,
    call,
    scan: (bytes) =>
      call("/api/v1/scan/sync/binary", {
        method: "POST",
        headers: { "Content-Type": "application/octet-stream" },
        body: typeof bytes === "string" ? bytes : Buffer.from(bytes),
      }),
    async [Symbol.asyncDispose]() {
      await service.stop(1000);
      folder?.[Symbol.dispose]();
    },
  };
}
