import { checkHeaders, type SyncDownloadRequest } from "@lazaret/contract";
import type { UrlSource } from "../../model/source.ts";
import { badRequest, Problem } from "../problem.ts";

/** What can be told of an address at once, without resolving it. */
export type CheckDestination = (
  url: string,
) => { kind: "allowed"; url: URL } | { kind: "invalid"; message: string } | { kind: "blocked"; message: string };

/** Where there is no way out, so that nobody waits for a download that cannot be. */
export function downloadsDisabled(): Problem {
  return new Problem(403, "downloads_disabled", {
    message: "this installation does not scan files by their URL",
    hint: "scan an object in a bucket, or upload the file; an operator can allow downloads with LAZARET_DOWNLOADS=true",
  });
}

/** The source that download_url and download_headers name. */
export function urlSource(body: SyncDownloadRequest, checkDestination: CheckDestination): UrlSource {
  const destination = checkDestination(body.download_url);
  if (destination.kind === "invalid") throw badRequest("invalid_download_url", destination.message);
  if (destination.kind === "blocked") throw blocked(destination.message, "LAZARET_ALLOW");
  return { kind: "url", url: body.download_url, headers: clientHeaders(body.download_headers, "download_headers") };
}

export function clientHeaders(
  headers: Record<string, string> | undefined,
  where: "download_headers" | "callback_headers",
): Record<string, string> {
  const checked = checkHeaders(headers ?? {}, where);
  if (checked.kind === "invalid") throw badRequest("invalid_header", checked.message, checked.hint);
  return checked.headers;
}

export function blocked(message: string, settings: "LAZARET_ALLOW" | "LAZARET_ALLOW_CALLBACK"): Problem {
  return badRequest(
    "blocked_destination",
    message,
    `use http or https to a public address and a usual port; an operator can open networks with ${settings}_NETWORKS and single hosts and ports with ${settings}_HOSTS`,
  );
}
