import { fileURLToPath } from "node:url";
import { SYNC_MAX_FILE_BYTES } from "@lazaret/contract";
import type { KnownKeys } from "../access/known-keys.ts";
import type { Log } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import { SHORTEST_KEY } from "../pipeline/limits.ts";
import type { Platform } from "../platforms/platform.ts";
import { consoleFiles } from "../receive/console/console-files.ts";
import { consoleKeys, type SetKeys } from "../receive/console/console-keys.ts";
import { type Entrance, entrance } from "../receive/console/entrance.ts";
import { type Sessions, sessions } from "../receive/console/sessions.ts";
import type { ApiRequest } from "../receive/request-answer.ts";
import type { Handle } from "../receive/route.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { CannotStart } from "./cannot-start.ts";

/** What the build of the page made; not there in a clone that nobody has set up. */
const BUILT = fileURLToPath(new URL("../../../console/dist", import.meta.url));

export interface ConsoleOptions {
  made: KnownKeys;
  platform: Pick<Platform, "audit" | "consoleSecret">;
  log: Log;
  now: () => number;
  /** For trying it out. */
  allowShortKeys?: boolean | undefined;
  useLink?: ((token: string) => boolean) | undefined;
  /** Where clients of the API reach it, if that is not where the console is. */
  apiUrl?: (() => string) | undefined;
}

export interface Console {
  entrance: Entrance;
  files: Handle;
  /** From now on these open it. Throws, and the old ones stay, when they are not good. */
  change(keys: KeysOfSettings): void;
}

/** All keys that stand in the settings. */
export type KeysOfSettings = SetKeys & Pick<Settings, "apiKeys">;

/** The entrance and the page. Undefined where there is to be none: on workers, and where it is off. */
export async function startConsole(settings: Settings, options: ConsoleOptions): Promise<Console | undefined> {
  if (settings.console === "off" || settings.role === "worker") return undefined;
  const { made, platform, log, now } = options;
  const keys = consoleKeys(settings, made);
  const sealed = await sealedSessions(settings, options);
  const { publicUrl, trustedProxies } = settings;
  return {
    entrance: entrance({
      keys,
      sessions: sealed.current,
      audit: platform.audit,
      facts: (request) => ({
        installation: {
          name: settings.scannerStackName,
          version,
          platform: settings.platform,
          role: settings.role,
          engine: settings.engine,
        },
        api_url: publicUrl || options.apiUrl?.() || addressOf(request, settings),
        limits: { max_upload_bytes: SYNC_MAX_FILE_BYTES },
        event_bus: settings.reportEventBus,
      }),
      log,
      now,
      publicUrl,
      behindProxies: trustedProxies.length > 0,
      useLink: options.useLink,
    }),
    files: consoleFiles({ folder: BUILT, isOpen: keys.some, log }),
    change(given) {
      checkConsoleKeys(given, options.allowShortKeys);
      keys.change(given);
      sealed.change(given);
    },
  };
}

/** Sessions sealed with the secret of the installation. While its store cannot give that, keys alone open the console. */
async function sealedSessions(
  settings: SetKeys,
  { platform, log, now }: ConsoleOptions,
): Promise<{ current(): Sessions; change(keys: SetKeys): void }> {
  let keys = settings;
  let secret: Uint8Array | undefined;
  let current: Sessions | undefined;
  let loading: Promise<void> | undefined;

  function load(): Promise<void> {
    loading ??= platform
      .consoleSecret()
      .then(
        (loaded) => {
          secret = loaded;
        },
        (error: Error) => log.error("console", { error: error.message }),
      )
      .finally(() => {
        loading = undefined;
      });
    return loading;
  }

  await load();
  return {
    current() {
      if (!secret) {
        void load();
        throw new QueueUnavailable("the secret of the console's sessions could not be read yet");
      }
      current ??= sessions(secret, [...keys.adminKeys, ...keys.viewerKeys], now);
      return current;
    },
    change(given) {
      keys = given;
      current = undefined;
    },
  };
}

/** Where the browser has found us. */
function addressOf({ headers }: ApiRequest, { tlsCert, trustedProxies }: Settings): string {
  const forwarded = trustedProxies.length > 0 && headers["x-forwarded-proto"]?.startsWith("https");
  return `${tlsCert !== "" || forwarded ? "https" : "http"}://${headers.host}`;
}

/** Throws `CannotStart` for keys that must not open the console. */
export function checkConsoleKeys({ adminKeys, viewerKeys, apiKeys }: KeysOfSettings, allowShort = false): void {
  const lists = { LAZARET_ADMIN_KEYS: adminKeys, LAZARET_VIEWER_KEYS: viewerKeys };
  for (const [name, list] of Object.entries(lists)) {
    const short = allowShort ? -1 : list.findIndex((key) => key.length < SHORTEST_KEY);
    if (short !== -1) {
      throw new CannotStart(
        `${name}: key ${short + 1} has fewer than ${SHORTEST_KEY} characters, and can be guessed`,
        "openssl rand -hex 24 makes a good one",
      );
    }
    const shared = list.findIndex((key) => apiKeys.includes(key));
    if (shared !== -1) {
      throw new CannotStart(
        `${name}: key ${shared + 1} is in LAZARET_API_KEYS, too`,
        "API keys are in the hands of programs: make another one for people, openssl rand -hex 24",
      );
    }
  }
  const both = viewerKeys.findIndex((key) => adminKeys.includes(key));
  if (both === -1) return;
  throw new CannotStart(
    `LAZARET_VIEWER_KEYS: key ${both + 1} is in LAZARET_ADMIN_KEYS, too`,
    "a key either looks or acts",
  );
}
