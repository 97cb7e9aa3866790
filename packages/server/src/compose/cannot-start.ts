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
  if (error.syscall === "listen" || error.syscall === "bind" || error.syscall === "getaddrinfo") {
    return new CannotStart(
      `cannot listen on ${where}: ${code}`,
      "choose a port above 1023 and an address of this machine (LAZARET_PORT, LAZARET_HOST)",
      { cause: error },
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

/** With a rules folder of the operator's own, what is wrong is most likely in there. */
export function cannotStartEngine(settings: Settings, error: Error): Error {
  if (settings.engine !== "P" || settings.rulesDir === "") return error;
  return new CannotStart(
    `cannot start engine P with the rules in ${settings.rulesDir}: ${error.message}`,
    "LAZARET_RULES_DIR must be a folder of .yar files that compile; docs/rules.md tells how to write one",
    { cause: error },
  );
}
