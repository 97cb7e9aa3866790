/**
 * What an engine said about the bytes. Only `clean` is proof; everything that is not proof is `unscannable`. `cached`: it has said so
 * before of the same bytes, and would say so again.
 */
export type Verdict =
  | { kind: "clean"; fileType?: string; cached?: true }
  /** `member` is for the log: what inside the file it was, as `inner.zip/setup.exe`. */
  | { kind: "infected"; finding: string; member?: string; fileType?: string; cached?: true }
  /** `detail` is for the log: which part of the file it was, and why. */
  | { kind: "unscannable"; finding: string; detail?: string; fileType?: string };

/** The verdict in the wire's words: whatever could not be scanned is `no`. */
export function statusOf(verdict: Verdict): "clean" | "infected" | "no" {
  return verdict.kind === "unscannable" ? "no" : verdict.kind;
}
