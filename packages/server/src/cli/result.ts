import type { ScanResult } from "@lazaret/client";
import { Command } from "commander";
import { withExamples } from "./examples.ts";
import { CommandFailed, exitCodes } from "./exit-codes.ts";
import { timeOption } from "./flag-values.ts";
import { formats } from "./scan/formats.ts";
import { addServerFlags, connect, failed, type ServerFlags } from "./server-connection.ts";
import { out } from "./terminal/output.ts";

interface ResultFlags extends ServerFlags {
  wait?: boolean;
  timeout: number;
  json?: boolean;
}

export function resultCommand(): Command {
  const command = new Command("result")
    .argument("<trace-id>", "as it was submitted, or as lazaret submit printed it")
    .description("fetch the result of a job")
    .option("--wait", "until there is one")
    .addOption(timeOption("--timeout <time>", "how long to wait, such as 30s or 10m", "10m"))
    .option("--json", "as JSON");
  addServerFlags(command);
  withExamples(
    command,
    [
      ["result order-4711", "now"],
      ["result order-4711 --wait --timeout 2m", "as soon as there is one"],
      ["result order-4711 --json | jq -r .status", ""],
    ],
    ["Exit code: 0 clean, 1 infected, 2 not scanned or no result, 3 no server, 4 refused by it."],
  );
  return command.action((traceId: string, flags: ResultFlags) => showResult(traceId, flags));
}

async function showResult(traceId: string, flags: ResultFlags): Promise<void> {
  const client = connect(flags);
  const asked: Promise<ScanResult | undefined> = flags.wait
    ? client.waitForResult(traceId, { timeoutMs: flags.timeout })
    : client.async.result(traceId);
  const result = await asked.catch(failed);
  if (!result) {
    throw new CommandFailed(exitCodes.notScanned, `there is no result for the trace id ${JSON.stringify(traceId)}`, {
      hint: "the scan is not finished (--wait waits for it), the result is older than 24 hours, or the trace id is wrong",
    });
  }
  out(flags.json ? `${JSON.stringify(result)}\n` : `${formats.text.line(traceId, result)}\n`);
  process.exitCode = result.status === "no" ? exitCodes.notScanned : exitCodes[result.status];
}
