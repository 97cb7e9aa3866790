import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Command } from "commander";
import { diagnose } from "./callback/diagnose.ts";
import { withExamples } from "./examples.ts";
import { CommandFailed, exitCodes, reasonOf } from "./exit-codes.ts";
import { timeOption } from "./flag-values.ts";
import { formats } from "./scan/formats.ts";
import { addKeyFlags, callbackKeys, type KeyFlags } from "./server-connection.ts";
import { out } from "./terminal/output.ts";

interface VerifyFlags extends KeyFlags {
  signature?: string;
  timestamp?: string;
  callbackUrl: string;
  tenantId?: string;
  tolerance: number;
}

const NOTHING_FITS =
  "nothing that is easily mistaken explains it: the body must be the bytes as they came, the callback_url exactly as submitted, " +
  "the key that of the server which sent it (lazaret signing-keys public --all prints those of before too), " +
  "and jobs submitted under /v1 need --tenant-id";

export function verifyCommand(): Command {
  const command = new Command("verify")
    .argument("[body]", "file with the callback's body, byte for byte; - or nothing for stdin", "-")
    .description("check the signature of a callback that you have kept, and explain why it fails")
    .requiredOption("--callback-url <url>", "exactly as the job was submitted")
    .option("--signature <hex>", "the callback's X-Signature")
    .option("--timestamp <ms>", "the callback's X-Timestamp")
    .option("--tenant-id <id>", "for jobs that were submitted under /v1")
    .addOption(timeOption("--tolerance <time>", "how far X-Timestamp may be from now, such as 24h", "5m"));
  addKeyFlags(command);
  withExamples(
    command,
    [
      [
        "verify body.json --signature 5b0c… --timestamp 1767225600000 --callback-url https://app.example.com/scanned",
        "",
      ],
      [
        "verify - --key callback-key.pem --tolerance 24h --signature 5b0c… --timestamp 1767… --callback-url https://…",
        "",
      ],
    ],
    [
      "Exit code: 0 authentic, whatever the callback says about the file; 3 no server to fetch the key from, 4 not authentic.",
    ],
  );
  return command.action((body: string, flags: VerifyFlags) => verify(body, flags));
}

async function verify(path: string, flags: VerifyFlags): Promise<void> {
  const { signature, timestamp, callbackUrl, tenantId, tolerance: toleranceMs } = flags;
  const body = path === "-" ? await buffer(process.stdin) : await readBody(path);
  const publicKey = await callbackKeys(flags);
  if (publicKey === undefined) {
    throw new CommandFailed(exitCodes.refused, "this server does not sign callbacks", {
      hint: "LAZARET_SIGN_CALLBACK_INVOCATIONS=true makes it sign them; lazaret dev does",
    });
  }
  const kept = { body, signature, timestamp, callbackUrl, tenantId };
  const diagnosis = await diagnose(kept, { publicKey, toleranceMs, now: Date.now }).catch((cause: unknown) => {
    if (!(cause instanceof TypeError)) throw cause;
    throw new CommandFailed(exitCodes.usage, cause.message, { hint: "--key names a PEM file", cause });
  });
  if (diagnosis.kind === "refused") {
    const { reason, message, explanation } = diagnosis;
    const hint = explanation ?? (reason === "bad_signature" ? NOTHING_FITS : "docs/callbacks.md tells what is signed");
    throw new CommandFailed(exitCodes.refused, `${reason}: ${message}`, { hint });
  }
  const { result, sentAt } = diagnosis.callback;
  out(
    `authentic, sent ${sentAt.toISOString()}\n${formats.text.line(result.trace_id ?? result.download_url, result)}\n`,
  );
}

async function readBody(path: string): Promise<Buffer> {
  return readFile(path).catch((cause: unknown) => {
    throw new CommandFailed(exitCodes.usage, `cannot read the body: ${reasonOf(cause)}`, {
      hint: "name the file with the body as it came, or - for stdin",
      cause,
    });
  });
}
