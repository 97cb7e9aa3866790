import { Command } from "commander";
import { withExamples } from "./examples.ts";
import { wrongUsage } from "./exit-codes.ts";
import { header } from "./flag-values.ts";
import { parseTarget } from "./scan/targets.ts";
import { addServerFlags, connect, failed, type ServerFlags } from "./server-connection.ts";
import { out } from "./terminal/output.ts";

interface SubmitFlags extends ServerFlags {
  traceId?: string;
  callbackUrl?: string;
  callbackHeader: Record<string, string>;
  customData?: string;
  header: Record<string, string>;
  objectVersion?: string;
}

export function submitCommand(): Command {
  const command = new Command("submit")
    .argument("<source>", "https://… or s3://bucket/key")
    .description("queue a file for scanning, and print the trace id of the job")
    .option("--trace-id <id>", "your name for the job; random if not given")
    .option("--callback-url <url>", "where the result is POSTed to")
    .option("--callback-header <header>", 'sent with the callback, as "Name: value"; may be repeated', header, {})
    .option("--custom-data <text>", "comes back unchanged in the callback")
    .option("-H, --header <header>", 'sent when downloading, as "Name: value"; may be repeated', header, {})
    .option("--object-version <id>", "that version of an object instead of the newest");
  addServerFlags(command);
  withExamples(command, [
    ["submit https://files.example.com/report.pdf", "then: lazaret result TRACE_ID --wait"],
    ["submit s3://uploads/report.pdf --trace-id order-4711", ""],
    [
      "submit https://files.example.com/a.zip -H 'Authorization: Bearer …' --callback-url https://app.example.com/scanned",
      "",
    ],
  ]);
  return command.action((source: string, flags: SubmitFlags) => submit(source, flags));
}

async function submit(source: string, flags: SubmitFlags): Promise<void> {
  const target = parseTarget(source);
  const { traceId, callbackUrl, customData, objectVersion: version } = flags;
  const answer = {
    traceId,
    callbackUrl,
    customData,
    ...(Object.keys(flags.callbackHeader).length > 0 && { callbackHeaders: flags.callbackHeader }),
  };
  if (target.kind !== "url" && target.kind !== "object") {
    throw wrongUsage(
      `${source} cannot be submitted`,
      "the server reads https://… and s3://bucket/key; for files there is lazaret scan",
    );
  }
  const client = connect(flags);
  const submitted =
    target.kind === "url"
      ? client.async.download({ url: target.url, headers: flags.header, ...answer })
      : client.async.object({ bucket: target.bucket, key: target.key, version, ...answer });
  out(`${(await submitted.catch(failed)).traceId}\n`);
}
