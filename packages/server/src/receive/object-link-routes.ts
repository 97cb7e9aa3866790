import { type ObjectRef, type OpenedSource, SourceFailed } from "../model/source.ts";
import { Problem } from "./problem.ts";
import type { Endpoint, Handle } from "./route.ts";

export interface ObjectLinkHandlersOptions {
  /** The object that a link names, if it is ours and has not expired. */
  checkLink(pathAndQuery: string): ObjectRef | undefined;
  open(object: ObjectRef, signal: AbortSignal): Promise<OpenedSource>;
}

type ObjectLinkEndpoint = "objectLink";

/** Where the links to objects of the folder store lead. The link itself is the permission. */
export const objectLinkEndpoints: Record<ObjectLinkEndpoint, Endpoint> = {
  objectLink: {
    doc: {
      group: "Service",
      summary: "Read an object through its link",
      description: "Links are signed and work for 12 hours.",
      success: { status: 200, description: "The object's bytes.", contentType: "application/octet-stream" },
      errors: { 403: ["invalid_link"], 404: ["not_found"] },
      example: "curl -o report.pdf '$LAZARET_URL/objects/uploads/report.pdf?expires=…&signature=…'",
    },
  },
};

export function objectLinkHandlers({ checkLink, open }: ObjectLinkHandlersOptions): Record<ObjectLinkEndpoint, Handle> {
  return {
    async objectLink(request) {
      const object = checkLink(`${request.path}?${request.query}`);
      if (!object) {
        throw new Problem(403, "invalid_link", { message: "this link was not made here, or has expired" });
      }
      try {
        const { bytes, announcedBytes: length = 0 } = await open(object, request.signal);
        const headers = { "Content-Disposition": "attachment", "Content-Security-Policy": "sandbox" };
        return { status: 200, headers, stream: { bytes, length } };
      } catch (error) {
        if (!(error instanceof SourceFailed)) throw error;
        throw new Problem(404, "not_found", { message: "there is no such object, or it cannot be read" });
      }
    },
  };
}
