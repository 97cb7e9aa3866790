import { type Settings, settingsTable } from "../settings.ts";

/** Where a server with these settings listens, from this machine. */
export function ownUrl({ host, port, tlsCert }: Pick<Settings, "host" | "port" | "tlsCert">): string {
  const every = host === "0.0.0.0" || host === "::";
  const name = every ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `${tlsCert === "" ? "http" : "https"}://${name}:${port || settingsTable.port.default}`;
}
