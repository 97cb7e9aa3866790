import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import { bucketsIn } from "../support/buckets.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { dailyDatabase } from "../support/signatures.ts";

/** A service that has all that can be measured: clamd with dated signatures, buckets, a topic, jobs and receivers. */
export interface BusyService extends AsyncDisposable {
  service: TestService;
  /** A little of everything, once. */
  round(number: number): Promise<void>;
}

const DAY_MS = 86_400_000;

export async function busyService(): Promise<BusyService> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(temporaryFolder());
  const database = dailyDatabase({ version: 27_815, builtAt: Date.now() - DAY_MS });
  const clamd = undo.use(await testClamd({}, { signatures: { "daily.cud": database } }));
  const buckets = bucketsIn(join(folder.path, "buckets"));
  const subscriptions = parseSubscriptions('[{"protocol":"file","endpoint":"findings.jsonl"}]');
  if ("problem" in subscriptions) throw new Error(subscriptions.problem);
  const service = undo.use(
    await testService({
      engine: "Q",
      clamd: `unix:${clamd.socketPath}`,
      dataDir: join(folder.path, "data"),
      bucketsDir: buckets.path,
      allowHttpCallbacks: true,
      subscriptions: subscriptions.value,
    }),
  );
  const files = undo.use(await fileServer());
  const receiver = undo.use(await callbackReceiver(answering(204)));
  const post = (path: string, body: object): Promise<Response> =>
    service.call(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const all = undo.move();
  return {
    service,
    async round(number) {
      buckets.put("uploads", `${number}.txt`, `object ${number}`);
      const asked = await Promise.all([
        service.scan(`text ${number}`),
        service.scan("the same text"),
        service.scan(gzipSync(`packed ${number}`)),
        ...(number % 5 === 0 ? [service.scan(eicar())] : []),
        service.scan(Buffer.alloc(100_000 + number, "large ")),
        post("/api/v1/scan/sync/download", { download_url: `${files.origin}/clean` }),
        post("/api/v1/scan/sync/objstore", { bucket: "uploads", key: `${number}.txt` }),
        post("/api/v1/scan/async/objstore", { bucket: "uploads", key: `${number}.txt`, trace_id: `object-${number}` }),
        post("/api/v1/scan/async/download", {
          download_url: `${files.origin}/clean`,
          callback_url: `${receiver.origin}/done`,
        }),
        fetch(`${service.url}/readyz`),
        service.call("/api/v1/scan/async/result?trace_id=nobody"),
      ]);
      for (const answer of asked) await answer.arrayBuffer();
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
