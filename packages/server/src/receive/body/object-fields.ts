import { objectProblem, type SyncObjectRequest } from "@lazaret/contract";
import type { ObjectSource } from "../../model/source.ts";
import { badRequest } from "../problem.ts";

/** What is wrong with the names of an object, for people; undefined when such an object could exist. */
export type CheckObject = (object: { bucket: string; key: string; version?: string }) => string | undefined;

/** The source that bucket, key and version name. Lengths in characters are the schema's business. */
export function objectSource({ bucket, key, version }: SyncObjectRequest, checkObject: CheckObject): ObjectSource {
  const object = { bucket, key, ...(version !== undefined && { version }) };
  const problem = objectProblem(object) ?? checkObject(object);
  if (problem) throw invalidObject(problem);
  return { kind: "object", ...object };
}

function invalidObject(message: string): Error {
  return badRequest("invalid_object", message, "name an object by its bucket and key as the object storage does");
}
