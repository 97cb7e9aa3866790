/** Every number of the spec, named, once. Where the spec leaves a number open, ours says so. */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Synchronous API: largest file. Exactly this size is allowed. */
export const SYNC_MAX_FILE_BYTES: number = 200 * MIB;
/** Synchronous API: time from the request's arrival to its answer. */
export const SYNC_TIMEOUT_SECONDS = 60;
/** Synchronous API: files scanned at once by one worker with engine Q. */
export const CONCURRENT_REQUESTS_Q = 4;
/** Synchronous API: files scanned at once by one worker with engine P, for each vCPU. */
export const CONCURRENT_REQUESTS_P_PER_VCPU = 8;

/** Ours: requests that may wait for a slot, for each file scanned at once. */
export const WAITING_PER_SLOT = 16;
/** Ours: largest JSON request body. */
export const JSON_MAX_BYTES: number = 256 * KIB;
/** Ours: longest URL a client may submit, in characters. */
export const URL_MAX_CHARACTERS = 2048;
/** Ours: header maps of a client hold no more names than this, and no more bytes than the next. */
export const HEADERS_MAX_COUNT = 100;
export const HEADERS_MAX_BYTES: number = 16 * KIB;
/** Ours: redirects followed by one download. */
export const DOWNLOAD_MAX_REDIRECTS = 5;
