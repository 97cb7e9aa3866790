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
/** Ours: longest trace_id. */
export const TRACE_ID_MAX_CHARACTERS = 256;
/** Asynchronous jobs: custom_data in bytes of UTF-8. Exactly this size is allowed. */
export const CUSTOM_DATA_MAX_BYTES: number = 16 * KIB;

/** Object jobs of the asynchronous API: how long the internal link to the object is good for. */
export const OBJECT_LINK_HOURS = 12;
/** Ours, as S3 has them: longest names. */
export const BUCKET_MAX_CHARACTERS = 63;
export const OBJECT_KEY_MAX_BYTES = 1024;
export const OBJECT_VERSION_MAX_CHARACTERS = 1024;

/** Callbacks: HTTP-level retries of one invocation, which makes 1 + 5 POSTs. */
export const CALLBACK_RETRIES = 5;
/** Callbacks: how often a job is put back on the queue after an invocation that failed. */
export const CALLBACK_REQUEUES = 3;
/** Callbacks: delay of such a job, times the number of the invocation that failed. */
export const CALLBACK_REQUEUE_SECONDS = 5;
/** Callbacks: how far X-Timestamp may be from a receiver's clock, either way; recommended to receivers. */
export const SIGNATURE_WINDOW_SECONDS: number = 5 * 60;
/** Polling: how long a result is kept. */
export const RESULT_RETENTION_HOURS = 24;

/** Ours: time of one POST, from the dial to the last of the answer's headers. */
export const CALLBACK_TIMEOUT_SECONDS = 15;
/** Ours: wait before the first retry of an invocation; doubled before each further one. */
export const CALLBACK_RETRY_SECONDS = 0.25;
/** Ours: as much of a receiver's answer is read. */
export const CALLBACK_ANSWER_MAX_BYTES: number = 64 * KIB;
/** Ours: POSTs under way to one origin at once. */
export const CALLBACKS_PER_ORIGIN = 8;
/** Ours: how often a download that failed in a way that may pass is tried again. */
export const DOWNLOAD_RETRIES = 3;
/** Ours: delay of such a job, times the number of the download that failed. */
export const DOWNLOAD_RETRY_SECONDS = 5;
