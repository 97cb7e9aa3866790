import { choice, hostAddress, keyList, type Parser, setting } from "./setting.ts";

/** The part of the table about who looks after the service, and where. */
export const consoleSettings = {
  adminKeys: setting({
    doc: "Secrets that open the console and /admin/v1 to look and to act, comma-separated or one per line; each has at least 16 characters and is not an API key. Read again as apiKeys are. Keys from `lazaret keys create --scope admin` do the same.",
    parse: keyList,
    default: "",
    secret: true,
  }),
  viewerKeys: setting({
    doc: "The same for people who may look but not act.",
    parse: keyList,
    default: "",
    secret: true,
  }),
  console: setting({
    doc: "`off` turns off the console and /admin/v1.",
    parse: choice(["on", "off"]),
    default: "on",
  }),
  adminListen: setting({
    doc: "Address and port, such as 127.0.0.1:8041, of a separate listener for /console, /admin and /metrics: then they are there and nowhere else.",
    parse: addressAndPort,
    default: "",
  }),
};

function addressAndPort(value: string): ReturnType<Parser<string>> {
  return value === "" || listenPlace(value) ? { value } : { problem: "must be an address and a port: 127.0.0.1:8041" };
}

/** `[::1]:8041` → `::1` and 8041; undefined when it is no such thing. */
export function listenPlace(value: string): { host: string; port: number } | undefined {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(value) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || "problem" in hostAddress(host) || Number(port) > 65_535) return undefined;
  return { host, port: Number(port) };
}
