import type { Schema } from "./schema.ts";

export type Status = "clean" | "infected" | "no";

/** The answer of every synchronous scan, and of a poll. */
export interface ScanResult {
  status: Status;
  finding?: string;
  size?: number;
  realfiletype?: string;
}

export const scanResultSchema: Schema = {
  type: "object",
  title: "ScanResult",
  description: "What the scan found. `no` means the file could not be scanned; it is never a kind of clean.",
  properties: {
    status: {
      type: "string",
      enum: ["clean", "infected", "no"],
      description: "clean, infected or no.",
      examples: ["infected"],
    },
    finding: {
      type: "string",
      description: "The kind of malware detected; for `no`, why the file could not be scanned.",
      examples: ["Win.Test.EICAR_HDB-1"],
    },
    size: { type: "integer", minimum: 0, description: "File size in bytes.", examples: [68] },
    realfiletype: { type: "string", description: "Real file type detected. Engine P only.", examples: ["ASCII text"] },
  },
  required: ["status"],
};
