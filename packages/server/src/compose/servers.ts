import type { Log } from "../log.ts";
import { type ApiOptions, api } from "../receive/api.ts";
import { type HttpTimings, type RunningServer, startHttpServer } from "../receive/http/http-server.ts";
import { listenPlace } from "../settings/console-settings.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";

interface ServersOptions extends Omit<ApiOptions, "home"> {
  log: Log;
  timings: Partial<HttpTimings>;
}

/** What to listen on, and how the setting for it is called. */
interface Place {
  host: string;
  port: number;
  name: string;
}

export interface Servers extends RunningServer {
  readonly adminPort: number | undefined;
}

/** The listener of the API, and that of the console and the metrics, if they have one of their own. */
export async function startServers(settings: Settings, options: ServersOptions): Promise<Servers> {
  const { routes, log, timings, ...parts } = options;
  const { tlsCert, tlsKey, trustedProxies } = settings;
  const apart = listenPlace(settings.adminListen);
  const home = options.entrance ? "console/" : "docs";

  function listen(place: Place, served: Partial<ApiOptions>) {
    return startHttpServer({
      ...place,
      ...(tlsCert !== "" && { tls: { certPath: tlsCert, keyPath: tlsKey } }),
      handle: api({ ...parts, routes, ...served }),
      log,
      trustedProxies,
      timings,
    }).catch((error: NodeJS.ErrnoException) => {
      throw cannotListen(place, error);
    });
  }

  await using undo = new AsyncDisposableStack();
  const main = { host: settings.host, port: settings.port, name: "LAZARET_PORT" };
  const server = await listen(
    main,
    apart ? { routes: routes.filter((route) => !route.operators), home: "docs" } : { home },
  );
  undo.defer(() => server.close(0));
  const admin = apart
    ? await listen(
        { ...apart, name: "LAZARET_ADMIN_LISTEN" },
        { routes: routes.filter((route) => route.operators), ...(options.entrance && { home }) },
      )
    : undefined;
  undo.defer(() => admin?.close(0));
  const all = admin ? [server, admin] : [server];
  undo.move();
  return {
    port: server.port,
    adminPort: admin?.port,
    drain() {
      for (const each of all) each.drain();
    },
    async close(graceMs) {
      await Promise.all(all.map((each) => each.close(graceMs)));
    },
  };
}

/** Codes of an address or a name that a machine may not have yet while it boots. */
const NOT_YET: readonly string[] = ["EADDRNOTAVAIL", "EAI_AGAIN"];

function cannotListen({ host, port, name }: Place, error: NodeJS.ErrnoException): Error {
  const where = `${host}:${port}`;
  const code = String(error.code);
  if (code === "EADDRINUSE") {
    return new CannotStart(
      `cannot listen on ${where}: the port is taken`,
      `use what runs there, stop it, or choose another with ${name}`,
      { cause: error, passes: true },
    );
  }
  if (error.syscall === "listen" || error.syscall === "bind" || error.syscall === "getaddrinfo") {
    return new CannotStart(
      `cannot listen on ${where}: ${code}`,
      `choose a port above 1023 and an address of this machine (${name === "LAZARET_PORT" ? `${name}, LAZARET_HOST` : name})`,
      { cause: error, passes: NOT_YET.includes(code) },
    );
  }
  if (error.syscall === "open" || error.syscall === "read" || /^ERR_(OSSL|SSL)/.test(code)) {
    return new CannotStart(
      `cannot use the TLS files: ${error.message}`,
      "LAZARET_TLS_CERT and LAZARET_TLS_KEY must be PEM files that belong together",
      { cause: error },
    );
  }
  return error;
}
