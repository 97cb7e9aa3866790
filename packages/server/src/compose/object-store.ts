import { join } from "node:path";
import type { ObjectActions } from "../deliver/object-actions.ts";
import type { ObjectLister, ObjectWatcher } from "../fetch/object-lister.ts";
import type { ObjectReader } from "../fetch/object-reader.ts";
import type { ObjectRef } from "../model/source.ts";
import { prepareDataFolder } from "../platforms/embedded/data-folder.ts";
import { folderObjects } from "../platforms/embedded/objects/objects.ts";
import type { Settings } from "../settings.ts";

export interface ObjectStore extends ObjectReader, ObjectActions, ObjectLister, Partial<ObjectWatcher> {
  /** The object that a link of ours leads to. Undefined for stores whose links lead elsewhere. */
  checkLink?(pathAndQuery: string): ObjectRef | undefined;
  close(): Promise<void>;
}

export interface ObjectStoreOptions {
  now: () => number;
  /** Where clients reach the API, for links. */
  ownUrl: () => string;
}

/** S3 on AWS or where an endpoint is set, else a folder for each bucket. */
export async function objectStore(settings: Settings, { now, ownUrl }: ObjectStoreOptions): Promise<ObjectStore> {
  const endpoint = settings.s3Endpoint || (settings.platform === "aws" ? settings.awsEndpoint : "");
  if (endpoint !== "" || settings.platform === "aws") {
    // Loaded only when used: the SDK is large.
    const { s3Objects } = await import("../platforms/aws/objects/objects.ts");
    return s3Objects(endpoint === "" ? {} : { endpoint, forcePathStyle: true });
  }
  const { secretKey } = await prepareDataFolder(settings.dataDir);
  const bucketsDir = settings.bucketsDir || join(settings.dataDir, "buckets");
  return { ...folderObjects({ bucketsDir, linkBase: ownUrl, secretKey, now }), close: async () => {} };
}
