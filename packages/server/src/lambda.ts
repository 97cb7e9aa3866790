import { startAsyncApi } from "./compose/async-api.ts";
import { log } from "./log.ts";
import { type LambdaEvent, type LambdaResult, lambdaHandler } from "./receive/lambda-handler.ts";
import { readSettings } from "./settings/read-settings.ts";

/** The asynchronous API as a Lambda function. Started once, when the first request comes. */
let started: Promise<(event: LambdaEvent) => Promise<LambdaResult>> | undefined;

export async function handler(event: LambdaEvent): Promise<LambdaResult> {
  started ??= start().catch((error) => {
    // The next request tries again: what was missing may be there by then.
    started = undefined;
    throw error;
  });
  return (await started)(event);
}

async function start(): Promise<(event: LambdaEvent) => Promise<LambdaResult>> {
  const read = readSettings({ flags: {}, env: process.env, file: {}, defaults: { platform: "aws", role: "api" } });
  if (read.kind !== "ok") {
    throw new Error(
      `the settings have problems: ${read.problems.map(({ name, problem }) => `${name} ${problem}`).join("; ")}`,
    );
  }
  const { settings } = read;
  // Written at once: the function stands still as soon as it has answered.
  const say = log({ level: settings.logLevel, format: "json", write: (line) => process.stdout.write(line) });
  const { handle } = await startAsyncApi(settings, say);
  return lambdaHandler({ handle, log: say });
}
