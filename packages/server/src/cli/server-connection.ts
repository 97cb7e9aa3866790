import { readFileSync } from "node:fs";
import {
  Lazaret,
  LazaretError,
  ResultTimeoutError,
  UnauthorizedError,
  UnreachableError,
  UnreadableFileError,
} from "@lazaret/client";
import type { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import { timeLimit } from "../flow/time-limit.ts";
import type { Settings } from "../settings.ts";
import { knownDevKey } from "./data-folder.ts";
import { CommandFailed, type ExitCode, exitCodes, reasonOf } from "./exit-codes.ts";
import { loadSettings } from "./load-settings.ts";
import { ownUrl } from "./own-url.ts";

const KEY_PATH = "/.well-known/lazaret/callback-key.pem";
const KEY_TIMEOUT_MS = 10_000;

export interface ServerFlags {
  url?: string;
}

export function addServerFlags(command: Command): Command {
  return command.option("--url <address>", "the server; LAZARET_URL, or this machine with the port that is set");
}

/** As given, in LAZARET_URL, or where a server with these settings listens. With or without /api/v1 at its end. */
export function serverUrl({ url }: ServerFlags, settings?: Settings): string {
  const given = url ?? (process.env.LAZARET_URL || undefined);
  if (given === undefined) return ownUrl(settings ?? loadSettings({}, {}).settings);
  return given.replace(/\/+$/, "").replace(/\/api\/v1$/, "");
}

/** The server that flags and environment name. Its key has no flag: command lines are seen by the whole machine. */
export function connect(flags: ServerFlags): Lazaret {
  const baseUrl = serverUrl(flags);
  const apiKey = process.env.LAZARET_API_KEY || devKeyFor(baseUrl);
  if (!apiKey) {
    throw new CannotStart(
      `no API key for ${baseUrl}`,
      "set LAZARET_API_KEY, or run lazaret dev in this folder: its key is found in the data folder",
    );
  }
  try {
    return new Lazaret({ baseUrl, apiKey });
  } catch (cause) {
    throw new CannotStart((cause as Error).message, "set LAZARET_URL to http://host:port or https://host", { cause });
  }
}

/** The key of `lazaret dev` is never sent to another machine. */
function devKeyFor(url: string): string | undefined {
  const host = URL.parse(url)?.hostname ?? "";
  if (!/^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(host)) return undefined;
  return knownDevKey(loadSettings({}, {}).settings.dataDir);
}

/** For `catch`: throws what the client threw as a failed command, with its hint and exit code. */
export function failed(error: unknown): never {
  if (!(error instanceof LazaretError)) throw error;
  throw new CommandFailed(exitCodeFor(error), withoutHint(error), { hint: hintFor(error), cause: error });
}

/** A client's message carries its hint at the end. */
export function withoutHint({ message, hint }: LazaretError): string {
  return hint === undefined ? message : message.replace(` (hint: ${hint})`, "");
}

function exitCodeFor(error: LazaretError): ExitCode {
  if (error instanceof ResultTimeoutError || error instanceof UnreadableFileError) return exitCodes.notScanned;
  const { status = 0 } = error;
  return status >= 400 && status < 500 ? exitCodes.refused : exitCodes.unreachable;
}

function hintFor(error: LazaretError): string {
  if (error instanceof UnauthorizedError) return "set LAZARET_API_KEY to one of the server's keys";
  if (error instanceof UnreachableError) {
    return "start one with lazaret dev, or say where it is with --url or LAZARET_URL; lazaret scan --local needs none";
  }
  return error.hint ?? "try again; lazaret doctor looks at what may be wrong";
}

export interface KeyFlags extends ServerFlags {
  key?: string;
}

export function addKeyFlags(command: Command): Command {
  return addServerFlags(command.option("--key <file>", "public keys as PEM; fetched from the server when not given"));
}

/** PEM of the public keys, from the file or from the server. Undefined when that server does not sign. */
export async function callbackKeys(flags: KeyFlags): Promise<string | undefined> {
  return flags.key === undefined ? fetchedKey(serverUrl(flags)) : fileKey(flags.key);
}

function fileKey(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new CommandFailed(exitCodes.usage, `cannot read the key: ${reasonOf(cause)}`, {
      hint: "lazaret signing-keys public > key.pem writes one",
      cause,
    });
  }
}

async function fetchedKey(url: string): Promise<string | undefined> {
  using limit = timeLimit(KEY_TIMEOUT_MS);
  try {
    const response = await fetch(`${url}${KEY_PATH}`, {
      redirect: "error",
      signal: limit.signal,
    });
    const text = await response.text();
    if (response.status === 404) return undefined;
    if (response.status === 200) return text;
    throw new Error(`answered ${response.status}`);
  } catch (cause) {
    throw new CommandFailed(
      exitCodes.unreachable,
      `cannot fetch the public key from ${url}${KEY_PATH}: ${reasonOf(cause)}`,
      {
        hint: "say where the server is with --url or LAZARET_URL, or name a file with --key",
        cause,
      },
    );
  }
}
