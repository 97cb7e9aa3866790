import type { Settings } from "../settings.ts";

/** An operator's mistake that keeps the service from starting: what, on what, and what to do. */
export class CannotStart extends Error {
  readonly hint: string;

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CannotStart";
    this.hint = hint;
  }
}

export function cannotListen(settings: Settings, error: NodeJS.ErrnoException): Error {
  const where = `${settings.host}:${settings.port}`;
  const code = String(error.code);
  if (code === "EADDRINUSE") {
    return new CannotStart(
      `cannot listen on ${where}: the port is taken`,
      "stop what listens there, or choose another with LAZARET_PORT",
      { cause: error },
    );
  }
  if (code === "EACCES" || code === "EADDRNOTAVAIL") {
    return new CannotStart(
      `cannot listen on ${where}: ${code}`,
      "choose a port above 1023 and an address of this machine (LAZARET_PORT, LAZARET_HOST)",
      { cause: error },
    );
  }
  if (code === "ENOENT" || code.startsWith("ERR_OSSL") || code.startsWith("ERR_SSL")) {
    return new CannotStart(
      `cannot use the TLS files: ${error.message}`,
      "LAZARET_TLS_CERT and LAZARET_TLS_KEY must be PEM files that belong together",
      { cause: error },
    );
  }
  return error;
}
