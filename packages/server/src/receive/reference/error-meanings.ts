/** What each code of an error means, and what to do about it. */
const meanings: Readonly<Record<string, string>> = {
  invalid_json: "The body is no JSON object. The message says where it breaks.",
  invalid_request: "A field or parameter is missing or has the wrong type. The message names it.",
  invalid_download_url: "`download_url` is missing, no http(s) URL, too long, or has a user name in it.",
  invalid_callback_url: "`callback_url` is no URL that can be called: https only, unless the operator allows more.",
  blocked_destination:
    "The URL leads to an address that is not public. The operator opens it with LAZARET_ALLOW_NETWORKS.",
  invalid_header: "A header of the map has a name or value that HTTP does not allow, or is one that the service sets.",
  trace_id_required: "Neither `callback_url` nor `trace_id`: nobody could learn the result. Send one of them.",
  invalid_trace_id: "`trace_id` is missing, too long, or has control characters.",
  custom_data_too_large: "`custom_data` has more than 16,384 bytes of UTF-8.",
  unsupported_by_engine: "The version of this installation does not have what was asked for: see `/version`.",
  invalid_object: "`bucket`, `key` or `version` is missing or malformed, or the bucket is not one that may be scanned.",
  invalid_multipart: "The body is no well-formed multipart form, or it was cut.",
  exactly_one_file: "The form must have one part, and that must be a file.",
  invalid_api_key: "No key, or a wrong one. Send `Authorization: Bearer <API_KEY>`.",
  downloads_disabled: "Files are not scanned by their URL here: send the bytes.",
  missing_scope: "The key does not have the scope that this call needs. An operator makes one that has it.",
  invalid_link: "The link was not made here, or has expired.",
  not_found: "There is nothing of that name; of a result: it is not there yet, or not any more.",
  request_timeout: "The request did not arrive in time. Try again on a better connection.",
  length_required: "Send `Content-Length`, or the body in chunks.",
  body_too_large: "The JSON body is larger than 256 KiB.",
  "scanner:too-big": "The file is larger than the limit (200 MB, or less for this key). Use the asynchronous API.",
  unsupported_media_type: "Another `Content-Type` is expected: see the request.",
  unsupported_encoding: "Send the body without `Content-Encoding`.",
  rate_limit: "More requests per second than the key or its tenant may send. Wait for `Retry-After` seconds.",
  monthly_files: "The tenant has no files left this month.",
  monthly_bytes: "The tenant has no bytes left this month.",
  jobs_waiting: "The tenant has as many jobs waiting as it may. Wait for `Retry-After` seconds.",
  scans_at_once: "As many scans of this key are under way as may be. Wait for `Retry-After` seconds.",
  busy: "All scanners are busy and the waiting line is full. Try again after `Retry-After` seconds.",
  engine_unavailable: "The engine gave no verdict. Try again; `/readyz?verbose` tells what is wrong.",
  queue_unavailable: "The store cannot be reached; nothing was accepted. Try again.",
  not_ready: "The service cannot scan now. `/readyz?verbose` lists the checks.",
  "scanner:timeout": "No verdict within 60 seconds. Use the asynchronous API.",
};

/** Undefined for a code that nobody has described: a test sees to it that there is none. */
export function meaningOf(code: string): string | undefined {
  return Object.hasOwn(meanings, code) ? meanings[code] : undefined;
}
