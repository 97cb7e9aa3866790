import { DeleteObjectCommand, type S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import type { ActionOutcome } from "../../../deliver/object-actions.ts";
import type { SeenObject } from "../../../model/source.ts";
import { etagOf, hasLastingVersion, isSame } from "./object-mark.ts";
import { headObject } from "./tag-object.ts";

/**
 * A version of its own is deleted as such; one that is gone is no error to S3. Any other object is compared first, and
 * deleted on the condition that it still has its entity tag: servers that do not know the condition ignore or refuse it.
 */
export async function deleteObject(client: S3Client, object: SeenObject, signal: AbortSignal): Promise<ActionOutcome> {
  const { bucket: Bucket, key: Key, version: VersionId } = object;
  const remove = async (more: { VersionId?: string; IfMatch?: string }): Promise<ActionOutcome> => {
    await client.send(new DeleteObjectCommand({ Bucket, Key, ...more }), { abortSignal: signal });
    return "done";
  };
  if (VersionId !== undefined && hasLastingVersion(object)) return remove({ VersionId });

  const told = await headObject(client, object, signal);
  if (!isSame(told, object)) return "changed";
  // S3 takes no condition together with a version. Without the version a bucket that has versions would keep the object.
  if (told.VersionId !== undefined) return remove({ VersionId: told.VersionId });
  try {
    return await remove({ IfMatch: etagOf(object) });
  } catch (error) {
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
    if (status === 412) return "changed";
    if (status !== 400 && status !== 501) throw error;
    return remove({});
  }
}
