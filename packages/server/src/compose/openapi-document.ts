import { document } from "../receive/routes.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";

/** The document that a service with these settings serves. A test holds the two together. */
export function openApiDocument(settings: Settings): Record<string, unknown> {
  const folders = settings.s3Endpoint === "" && settings.platform === "embedded";
  return document({ role: settings.role, scans: true, folders }, { version });
}
