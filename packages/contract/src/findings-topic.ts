import type { Status } from "./result.ts";
import type { ObjectSchema } from "./schema.ts";

/** What was done to an object after its scan. */
export type ObjectAction = "delete" | "tag" | "no";

/** The JSON body of a message on the findings topic; also the detail of a `Scan Result` event. */
export interface FindingsMessage {
  bucket: string;
  key: string;
  /** When versioning is on. */
  version?: string;
  size: number;
  status: Status;
  action: ObjectAction;
  finding?: string;
  trace_id?: string;
  custom_data?: string;
  realfiletype?: string;
}

/** Attributes of a message, for filtering. custom_data and realfiletype are none. */
export type FindingsAttributes = Readonly<
  Partial<Record<"version" | "finding" | "trace_id", string>> &
    Record<"bucket" | "key" | "status" | "action", string> & { size: number }
>;

/** As they are sent: installations of some versions know no size. */
export type FittedMessage = Omit<FindingsMessage, "size"> & Partial<Pick<FindingsMessage, "size">>;
export type FittedAttributes = Omit<FindingsAttributes, "size"> & Partial<Pick<FindingsAttributes, "size">>;

export const findingsMessageSchema: ObjectSchema = {
  type: "object",
  title: "FindingsMessage",
  description: "A message on the findings topic, and the detail of a `Scan Result` event.",
  properties: {
    bucket: { type: "string", description: "Bucket name." },
    key: { type: "string", description: "Object key." },
    version: { type: "string", description: "Object version when versioning is on." },
    size: { type: "integer", minimum: 0, description: "Object size in bytes." },
    status: { type: "string", enum: ["clean", "infected", "no"], description: "clean, infected or no." },
    action: { type: "string", enum: ["delete", "tag", "no"], description: "Action taken." },
    finding: {
      type: "string",
      description: "The kind of malware detected; for `no`, an engine's finding or a service error code.",
    },
    trace_id: { type: "string", description: "Trace ID of a custom scan job." },
    custom_data: { type: "string", description: "Custom data of a custom scan job, unchanged." },
    realfiletype: { type: "string", description: "Real file type detected. Engine P only." },
  },
  required: ["bucket", "key", "size", "status", "action"],
};
