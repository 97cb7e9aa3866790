import { findings, SYNC_MAX_FILE_BYTES } from "@lazaret/contract";
import type { UploadSource } from "../../model/source.ts";
import { badRequest, Problem } from "../problem.ts";
import type { ApiRequest } from "../request-answer.ts";
import { requireContentType, requireIdentityEncoding } from "./content-type.ts";
import { onlyFile } from "./multipart.ts";

/** A form's boundary lines, headers, preamble and epilogue come on top of the file. */
const FORM_OVERHEAD_BYTES = 256 * 1024;

/** The body as it is. Nothing of it is read yet. */
export function binaryUpload(request: ApiRequest, maxBytes: number = SYNC_MAX_FILE_BYTES): UploadSource {
  requireContentType(request, "application/octet-stream");
  requireIdentityEncoding(request);
  requireLength(request);
  const { contentLength } = request;
  if ((contentLength ?? 0) > maxBytes) throw tooBig(maxBytes);
  return { kind: "upload", bytes: request.body, ...(contentLength !== undefined && { announcedBytes: contentLength }) };
}

/** The one file of a form. Nothing of it is read yet; what is wrong with the form comes out while it is. */
export function formUpload(request: ApiRequest, maxBytes: number = SYNC_MAX_FILE_BYTES): UploadSource {
  const type = requireContentType(request, "multipart/form-data");
  requireIdentityEncoding(request);
  const boundary = type.parameters.get("boundary");
  if (boundary === undefined || !/^[\x20-\x7e]{0,69}[\x21-\x7e]$/.test(boundary)) {
    throw badRequest(
      "invalid_multipart",
      "the content type has no valid boundary",
      "let your HTTP client set the Content-Type of the form",
    );
  }
  if ((request.contentLength ?? 0) > maxBytes + FORM_OVERHEAD_BYTES) throw tooBig(maxBytes);
  const source: UploadSource = {
    kind: "upload",
    atMostBytes: request.contentLength,
    bytes: onlyFile(request.body, boundary, (name) => {
      source.name = name;
    }),
  };
  return source;
}

/** Without either header a request has no body, whatever follows it: an empty file that nobody meant to send. */
function requireLength(request: ApiRequest): void {
  if (request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined) return;
  throw new Problem(411, "length_required", {
    message: "the request says neither how long its body is nor that it is chunked",
    hint: "send Content-Length, 0 for an empty file, or Transfer-Encoding: chunked",
  });
}

export function tooBig(maxBytes: number): Problem {
  return new Problem(413, findings.tooBig, {
    message: `the file is larger than ${maxBytes} bytes`,
    hint:
      maxBytes === SYNC_MAX_FILE_BYTES
        ? "the synchronous API takes files of at most 200 MB"
        : "an operator has set this limit for your key or tenant",
    // Also when the last byte has just arrived: whether it had is nothing a client could rely on.
    headers: { Connection: "close" },
  });
}
