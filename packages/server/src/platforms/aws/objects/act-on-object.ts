import {
  DeleteObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectTaggingCommand,
  type S3Client,
  S3ServiceException,
  type Tag,
} from "@aws-sdk/client-s3";
import type { ActionOutcome, ObjectTag } from "../../../deliver/object-actions.ts";
import type { SeenObject } from "../../../model/source.ts";
import { etagOf, hasLastingVersion, isSame, namedObject } from "./object-identity.ts";
import { badAnswer } from "./s3-failure.ts";

/** S3 allows no more, and would not say which of them is too many. */
const MAX_TAGS = 10;

/**
 * A version of its own is tagged as such. Of any other object the entity tag is compared before and after, because S3 has
 * no condition for tags: where another file came in between, the tag is taken off again.
 */
export async function tagObject(
  client: S3Client,
  object: SeenObject,
  options: { tag: ObjectTag; signal: AbortSignal },
): Promise<ActionOutcome> {
  const { tag, signal } = options;
  const lasting = hasLastingVersion(object);
  if (!lasting && !isSame(await headObject(client, object, signal), object)) return "changed";

  const tags = await tagsOf(client, object, signal);
  const before = tags.find(({ Key }) => Key === tag.key)?.Value;
  if (tag.over !== undefined && before !== undefined && before !== tag.over) return "kept";
  const others = tags.filter(({ Key }) => Key !== tag.key);
  if (others.length >= MAX_TAGS) {
    throw new Error(`cannot tag the object: it has ${others.length} other tags, and S3 allows ${MAX_TAGS} in all`);
  }
  if (!tags.some((each) => isTag(each, tag))) {
    await putTags(client, object, { tags: [...others, { Key: tag.key, Value: tag.value }], signal });
  }
  if (lasting) return "done";
  // Only the entity tag this time: there are servers for which a new tag makes a new time.
  const after = await headObject(client, object, signal).catch(async (error) => {
    // Whether the tag is on the right one cannot be known. The next try puts it on again.
    await takeOff(client, object, { tag, signal });
    throw error;
  });
  if (after.ETag === etagOf(object)) return "done";
  await takeOff(client, object, { tag, signal });
  return "changed";
}

async function takeOff(
  client: S3Client,
  object: SeenObject,
  { tag, signal }: { tag: ObjectTag; signal: AbortSignal },
): Promise<void> {
  const tags = await tagsOf(client, object, signal);
  const left = tags.filter((each) => !isTag(each, tag));
  if (left.length < tags.length) await putTags(client, object, { tags: left, signal });
}

function headObject(client: S3Client, object: SeenObject, signal: AbortSignal): Promise<HeadObjectCommandOutput> {
  return client.send(new HeadObjectCommand(namedObject(object)), { abortSignal: signal });
}

async function tagsOf(client: S3Client, object: SeenObject, signal: AbortSignal): Promise<Tag[]> {
  try {
    const answer = await client.send(new GetObjectTaggingCommand(namedObject(object)), { abortSignal: signal });
    // Taken for no tags, an answer without a body would cost the object those it has.
    if (!answer.TagSet) throw badAnswer("read the object's tags");
    return answer.TagSet;
  } catch (error) {
    // What some servers say of an object without tags.
    if (error instanceof Error && /^NoSuchTagSet/.test(error.name)) return [];
    throw error;
  }
}

async function putTags(
  client: S3Client,
  object: SeenObject,
  options: { tags: Tag[]; signal: AbortSignal },
): Promise<void> {
  const command = new PutObjectTaggingCommand({ ...namedObject(object), Tagging: { TagSet: options.tags } });
  await client.send(command, { abortSignal: options.signal });
}

function isTag({ Key, Value }: Tag, tag: ObjectTag): boolean {
  return Key === tag.key && Value === tag.value;
}

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

  const current = await headObject(client, object, signal);
  if (!isSame(current, object)) return "changed";
  // S3 takes no condition together with a version. Without the version a bucket that has versions would keep the object.
  if (current.VersionId !== undefined) return remove({ VersionId: current.VersionId });
  try {
    return await remove({ IfMatch: etagOf(object) });
  } catch (error) {
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
    if (status === 412) return "changed";
    if (status !== 400 && status !== 501) throw error;
    return remove({});
  }
}
