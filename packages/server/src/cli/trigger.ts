import { Argument, Command } from "commander";
import { timeLimit } from "../flow/time-limit.ts";
import { version } from "../version.ts";
import { DATA_DIR, localKeys } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { CommandFailed, exitCodes, reasonOf, wrongUsage } from "./exit-codes.ts";
import { out, printable } from "./terminal/output.ts";

interface TriggerFlags {
  to: string;
  traceId: string;
  customData?: string;
  tenantId?: string;
  dataDir?: string;
}

/** As long as the server gives a receiver. */
const TIMEOUT_MS = 15_000;
const SHOWN_CHARACTERS = 300;

export function triggerCommand(): Command {
  const command = new Command("trigger")
    .addArgument(new Argument("<status>", "what the callback says").choices(["clean", "infected", "no"]))
    .description("send a signed sample callback to your receiver, with the key in the local data folder or PostgreSQL")
    .requiredOption("--to <url>", "where to; it is also the callback_url that is signed")
    .option("--trace-id <id>", "in the callback", "sample")
    .option("--custom-data <text>", "in the callback")
    .option("--tenant-id <id>", "sign it as for a job that was submitted under /v1")
    .option(...DATA_DIR);
  withExamples(
    command,
    [
      ["trigger infected --to http://localhost:3000/scanned", "does your receiver refuse the file?"],
      ["trigger no --to http://localhost:3000/scanned", "and one that could not be scanned?"],
    ],
    ["Exit code: 0 accepted (2xx), 3 nobody there, 4 refused."],
  );
  return command.action((status: Status, flags: TriggerFlags) => trigger(status, flags));
}

type Status = "clean" | "infected" | "no";

async function trigger(status: Status, flags: TriggerFlags): Promise<void> {
  const { to: url, traceId, customData, tenantId } = flags;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw wrongUsage(`${url} is not a URL`, "--to http://localhost:3000/…");
  const { privateKey } = (await localKeys(flags)).pair;
  const { sampleCallback } = await import("../deliver/sample-callback.ts");
  const { callbackSigner } = await import("../deliver/signature.ts");
  const { headers, body } = await sampleCallback({
    status,
    url,
    traceId,
    ...(customData !== undefined && { customData }),
    ...(tenantId !== undefined && { tenantId }),
    sign: callbackSigner(privateKey),
    now: Date.now(),
    version,
  });
  using limit = timeLimit(TIMEOUT_MS);
  const response = await fetch(url, {
    method: "POST",
    headers,
    body,
    redirect: "manual",
    signal: limit.signal,
  }).catch((error: unknown) => {
    throw new CommandFailed(exitCodes.unreachable, `cannot send a callback to ${url}: ${reasonOf(error)}`, {
      hint: "start the receiver; lazaret listen is one",
      cause: error,
    });
  });
  const text = printable((await response.text()).trim().slice(0, SHOWN_CHARACTERS));
  out(`${response.status}${text === "" ? "" : `  ${text}`}\n`);
  if (!response.ok) {
    throw new CommandFailed(
      exitCodes.refused,
      `the receiver answered ${response.status}: a real callback would be tried again`,
      {
        hint: "receivers answer 2xx; lazaret verify explains why a signature fails",
      },
    );
  }
}
