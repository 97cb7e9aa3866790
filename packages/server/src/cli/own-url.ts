import { type Settings, settingsTable } from "../settings.ts";

/** Where a server with these settings listens, from this machine. */
export function ownPlace({ host, port }: Pick<Settings, "host" | "port">): { host: string; port: number } {
  const every = host === "0.0.0.0" || host === "::";
  return { host: every ? "127.0.0.1" : host, port: port || Number(settingsTable.port.default) };
}

export function ownUrl(settings: Pick<Settings, "host" | "port" | "tlsCert">): string {
  const { host, port } = ownPlace(settings);
  return `${settings.tlsCert === "" ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
