import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { CommandFailed, reasonOf } from "../outcome/command-failed.ts";
import { exitCodes } from "../outcome/exit-codes.ts";
import { addServerFlags, type ServerFlags, serverUrl } from "../reach/server-connection.ts";

export interface KeyFlags extends ServerFlags {
  key?: string;
}

const KEY_PATH = "/.well-known/lazaret/callback-key.pem";
const TIMEOUT_MS = 10_000;

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
      hint: "lazaret keys public > key.pem writes one",
      cause,
    });
  }
}

async function fetchedKey(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}${KEY_PATH}`, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
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
