import { findings } from "@lazaret/contract";
import { SourceFailed } from "../../../model/source.ts";
import { errorCode } from "./directory-handle.ts";

/** Nothing there that we would read: also a link, a folder, a pipe or a device, and a name too long to be one. */
const notThere = ["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENAMETOOLONG", "ENXIO", "ENODEV"];
const forbidden = ["EACCES", "EPERM"];

/** Undefined when there is no such file. */
export async function unlessMissing<T>(doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    if (notThere.includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

/**
 * What a file system's error means for the object. All but the two plain reasons may pass: too many open files, a network
 * drive that is away. An error without a code is none of the file system's, and is handed on.
 */
export function failedBy(error: unknown, attempt: string): unknown {
  const code = errorCode(error);
  if (error instanceof SourceFailed || code === undefined) return error;
  if (notThere.includes(code)) return failure("objectNotFound", code, `${attempt}: there is none of that name`, error);
  if (forbidden.includes(code)) return failure("objectAccessDenied", code, `${attempt}: it may not be read`, error);
  return failure("downloadFailed", code, `${attempt}: ${code}`, error);
}

export function noSuchObject(problem = "there is none of that name and version"): SourceFailed {
  return failure("objectNotFound", "ENOENT", `cannot read the object: ${problem}`);
}

export function changedMeanwhile(): SourceFailed {
  return failure("downloadFailed", "object_changed", "cannot read the object: it changed meanwhile");
}

function failure(
  finding: "objectNotFound" | "objectAccessDenied" | "downloadFailed",
  code: string,
  message: string,
  cause?: unknown,
): SourceFailed {
  const passing = finding === "downloadFailed";
  return new SourceFailed({ finding: findings[finding], code, message, passing }, { cause });
}
