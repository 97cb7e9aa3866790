import assert from "node:assert/strict";
import { join } from "node:path";
import { SCOPES } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";
import { openPlatform } from "../../src/compose/platform.ts";
import { openJobStore as openTable } from "../../src/platforms/aws/platform.ts";
import { openJobStore as openFolder } from "../../src/platforms/embedded/job-store.ts";
import type { Platform } from "../../src/platforms/platform.ts";
import { openJobStore as openSchema } from "../../src/platforms/postgres/job-store.ts";
import type { Settings } from "../../src/settings.ts";
import { awsInstallation } from "./aws/aws-service.ts";
import { rawChecks } from "./aws/raw-checks.ts";
import { type Buckets, bucketsIn } from "./buckets.ts";
import { anyEngine } from "./clamd.ts";
import { type FileServer, fileServer } from "./file-server.ts";
import { fleetPlace } from "./fleet.ts";
import { temporaryFolder } from "./leftovers.ts";
import { type TestService, testService } from "./service.ts";
import { twoServices } from "./two-services.ts";

type Store = Pick<Platform, "access" | "callbackFailures" | "deadLetters" | "close">;

/** An installation that two tenants share. */
export interface TwoTenants extends AsyncDisposable {
  service: Pick<TestService, "url" | "lines">;
  store: Store;
  buckets: Pick<Buckets, "put" | "tagsOf">;
  files: FileServer;
  secretOf: Readonly<Record<"shop" | "bank", string>>;
  /** What the store was asked since it was last emptied; nothing where it is asked by other processes. */
  asked: string[];
  /** Cursors of the list of failures that nobody was given: behind all of them, and before. */
  cursors: readonly [late: string, early: string];
}

interface Parts {
  folder: string;
  dataDir: string;
  asked: string[];
  undo: AsyncDisposableStack;
}

interface Storage {
  store: Store;
  /** Started when both have their keys. */
  start(): Promise<TwoTenants["service"]>;
  buckets: TwoTenants["buckets"];
  cursors?: TwoTenants["cursors"];
}

const options: Partial<Settings> = { allowHttpCallbacks: true, signCallbackInvocations: true, monthlyQuota: 5000 };

/** Where isolation is shown. */
export const places: Record<string, (parts: Parts) => Promise<Storage>> = {
  embedded: async (parts) => inProcess(parts, { platform: "embedded" }, await openFolder(parts.dataDir)),

  async postgres(parts) {
    const { settings } = await fleetPlace(parts.dataDir);
    const { postgresUrl: url = "", postgresSchema: schema = "", secretKey = "" } = settings;
    const given = { url, schema, pool: 2, secretKey: Buffer.from(secretKey, "hex"), migrate: false };
    return inProcess(parts, settings, await openSchema(given));
  },

  async aws(parts) {
    const { aws, settings } = parts.undo.use(await awsInstallation());
    const {
      awsQueueUrl: queueUrl = "",
      awsDeadLettersUrl: deadLetterQueueUrl = "",
      awsTable: tableName = "",
    } = settings;
    const store = openTable({
      region: "us-east-1",
      endpoints: { sqs: aws.endpoint, dynamodb: aws.endpoint },
      queueUrl,
      deadLetterQueueUrl,
      tableName,
      checks: rawChecks,
      sealer: () => assert.fail("nothing here is sealed"),
      now: aws.sqs.now,
    });
    const here = inProcess(parts, settings, store, aws.sqs.now);
    return {
      ...here,
      cursors: [`${"9".repeat(15)}%23none`, `${"0".repeat(14)}3%23none`],
      buckets: {
        put: (bucket, key, bytes) => void aws.s3.bucket(bucket).put(key, Buffer.from(bytes)),
        tagsOf: async (bucket, key) => Object.fromEntries(aws.s3.bucket(bucket).find(key, undefined).tags),
      },
    };
  },

  async "two services"({ folder, dataDir, undo }) {
    const buckets = bucketsIn(join(folder, "buckets"));
    const env = {
      LAZARET_DATA_DIR: dataDir,
      LAZARET_BUCKETS_DIR: buckets.path,
      LAZARET_ALLOW_HTTP_CALLBACKS: "true",
      LAZARET_SIGN_CALLBACK_INVOCATIONS: "true",
      LAZARET_MONTHLY_QUOTA: "5000",
    };
    const start = async (): Promise<TwoTenants["service"]> => {
      const { both } = undo.use(await twoServices(folder, env));
      let asked = 0;
      return {
        // In turn.
        get url() {
          asked += 1;
          return both[asked % 2]?.url ?? "";
        },
        get lines() {
          return both.flatMap(({ lines, port }) => lines.map((line) => ({ ...line, port })));
        },
      };
    };
    return { store: await openFolder(dataDir), buckets, start };
  },
};

function inProcess(
  { folder, dataDir, asked, undo }: Parts,
  settings: Partial<Settings>,
  store: Store,
  now = Date.now,
): Storage {
  const buckets = bucketsIn(join(folder, "buckets"));
  return {
    store,
    buckets,
    async start() {
      const engine = await anyEngine();
      const given = { ...settings, ...engine, dataDir, bucketsDir: buckets.path, ...options };
      const noted: typeof openPlatform = async (...parts) => noting(await openPlatform(...parts), asked);
      return undo.use(await testService(given, {}, { openPlatform: noted, now }));
    },
  };
}

export async function twoTenants(where: string): Promise<TwoTenants> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(temporaryFolder()).path;
  const files = undo.use(await fileServer({ "/away": (_, response) => void response.writeHead(503).end() }));
  const asked: string[] = [];
  const dataDir = join(folder, "data");
  const {
    store,
    start,
    buckets,
    cursors = ["999999999", "3"],
  } = (await places[where]?.({
    folder,
    dataDir,
    asked,
    undo,
  })) ?? assert.fail();
  undo.defer(() => store.close());
  const secrets = { shop: newSecret(), bank: newSecret() };
  for (const [tenant, { id, digest }] of Object.entries(secrets)) {
    await store.access.addKey({
      id,
      digest,
      name: "web",
      tenant,
      scopes: tenant === "shop" ? ["scan", "objects", "read"] : SCOPES,
      madeAt: 0,
      limits: {},
    });
    await store.access.putTenant({ name: tenant, weight: 1, limits: {}, buckets: [`${tenant}-*`] }, undefined);
  }
  const service = await start();
  const all = undo.move();
  const secretOf = { shop: secrets.shop.secret, bank: secrets.bank.secret };
  return { service, store, buckets, files, secretOf, asked, cursors, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Notes what is looked up, and for whom. */
function noting(platform: Platform, asked: string[]): Platform {
  const { results, callbackFailures, usage } = platform;
  return {
    ...platform,
    results: {
      ...results,
      find(trace) {
        asked.push(`result of ${trace.tenant}`);
        return results.find(trace);
      },
    },
    callbackFailures: {
      ...callbackFailures,
      list(query) {
        asked.push(`failures of ${query.tenant}`);
        return callbackFailures.list(query);
      },
    },
    usage: {
      ...usage,
      thisMonth(tenant) {
        asked.push(`usage of ${tenant}`);
        return usage.thisMonth(tenant);
      },
    },
  };
}
