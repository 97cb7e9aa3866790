/** What there is to scan, one by one. */
export type ScanItem =
  | { kind: "stdin"; name: string }
  | { kind: "file"; name: string; path: string; sizeBytes: number }
  | { kind: "url"; name: string; url: string }
  | { kind: "object"; name: string; bucket: string; key: string }
  /** Something that should have been scanned and cannot even be looked at. */
  | { kind: "unreadable"; name: string; reason: string };

/** What is said about one of them. `no` is no kind of clean. */
export interface Scanned {
  status: "clean" | "infected" | "no";
  /** The kind of malware; for `no`, why not. */
  finding?: string;
  /** What inside the file is infected, where the scanner says so: `inner.zip/setup.exe`. */
  member?: string;
  /** For people: more about why not. */
  message?: string;
  size?: number;
  realfiletype?: string;
}

/** Scans by a server, or in this process. */
export interface Scanner extends AsyncDisposable {
  /** Throws `CommandFailed` when there is no sense in going on with further files, and the signal's reason. */
  scan(item: Exclude<ScanItem, { kind: "unreadable" }>, onBytes: OnBytes, signal: AbortSignal): Promise<Scanned>;
}

/** Told how many bytes of the file have been read so far. */
export type OnBytes = (bytes: number) => void;
