/** What an engine said about the bytes. Only `clean` is proof; everything that is not proof is `unscannable`. */
export type Verdict =
  | { kind: "clean"; fileType?: string }
  | { kind: "infected"; finding: string; fileType?: string }
  /** `detail` is for the log: which part of the file it was. */
  | { kind: "unscannable"; finding: string; detail?: string; fileType?: string };

/** The verdict in the wire's words: whatever could not be scanned is `no`. */
export function statusOf(verdict: Verdict): "clean" | "infected" | "no" {
  return verdict.kind === "unscannable" ? "no" : verdict.kind;
}
