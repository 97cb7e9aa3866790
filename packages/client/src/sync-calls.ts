import { UnexpectedAnswerError } from "./errors.ts";
import { formFrame } from "./file/form-frame.ts";
import { type FileInput, isReplayable } from "./file/open-file.ts";
import { type FileOptions, type Frame, type OpenUpload, openUpload } from "./file/upload-body.ts";
import type { CallOptions, Send } from "./http/send.ts";
import { jsonBody, resultIn } from "./json-call.ts";
import type { ScanResult } from "./result.ts";
import type { SyncDownloadRequest, SyncObjectRequest } from "./wire.ts";

export interface DownloadTarget {
  /** Fetched by the server. */
  url: string | URL;
  /** Sent when downloading. */
  headers?: Readonly<Record<string, string>> | undefined;
}

export interface ObjectTarget {
  bucket: string;
  key: string;
  /** The newest when not given. */
  version?: string | undefined;
}

export interface FormOptions extends FileOptions {
  /** The name in the form; it does not decide anything. `file` when not given. */
  filename?: string | undefined;
}

/** One request, one result: at most 200 MB and 60 seconds. */
export interface SyncCalls {
  /** Uploads a file as it is. */
  binary(file: FileInput, options?: FileOptions): Promise<ScanResult>;
  /** Uploads a file as a form. */
  form(file: FileInput, options?: FormOptions): Promise<ScanResult>;
  /** Lets the server download a file. */
  download(target: DownloadTarget, options?: CallOptions): Promise<ScanResult>;
  /** Lets the server read an object from its storage. */
  object(target: ObjectTarget, options?: CallOptions): Promise<ScanResult>;
}

export function syncCalls(send: Send): SyncCalls {
  async function upload(file: FileInput, options: FileOptions, kind: UploadKind): Promise<ScanResult> {
    let sent: OpenUpload | undefined;
    const body = {
      contentType: kind.contentType,
      replayable: isReplayable(file),
      async open() {
        sent = await openUpload(file, options, kind.frame);
        return sent;
      },
    };
    const answer = await send({ method: "POST", path: kind.path, body, expect: [200] }, options);
    return aboutTheWholeFile(resultIn(answer), sent);
  }

  async function ask(path: string, fields: object, options: CallOptions): Promise<ScanResult> {
    return resultIn(await send({ method: "POST", path, body: jsonBody(fields), expect: [200] }, options));
  }

  return {
    binary(file, options = {}) {
      return upload(file, options, { path: "/api/v1/scan/sync/binary", contentType: "application/octet-stream" });
    },
    form(file, options = {}) {
      const form = formFrame(options.filename ?? "file", `lazaret-${crypto.randomUUID()}`);
      return upload(file, options, { path: "/api/v1/scan/sync/form", ...form });
    },
    download: (target, options = {}) => ask("/api/v1/scan/sync/download", downloadFields(target), options),
    object: (target, options = {}) => ask("/api/v1/scan/sync/objstore", objectFields(target), options),
  };
}

interface UploadKind {
  path: string;
  contentType: string;
  frame?: Frame;
}

export function downloadFields({ url, headers }: DownloadTarget): SyncDownloadRequest {
  return { download_url: String(url), ...(headers && { download_headers: { ...headers } }) };
}

export function objectFields({ bucket, key, version }: ObjectTarget): SyncObjectRequest {
  return { bucket, key, ...(version !== undefined && { version }) };
}

/** Clean is believed only of exactly the bytes that were sent. */
function aboutTheWholeFile(result: ScanResult, sent: OpenUpload | undefined): ScanResult {
  if (result.status !== "clean") return result;
  if (sent?.whole && (result.size ?? sent.sentBytes) === sent.sentBytes) return result;
  const scanned = result.size === undefined ? "an answer came" : `${result.size} bytes were scanned`;
  throw new UnexpectedAnswerError(`${scanned} after ${sent?.sentBytes} bytes of the file had been sent`, {
    status: 200,
    code: "unexpected_answer",
  });
}
