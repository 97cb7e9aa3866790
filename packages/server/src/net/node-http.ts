/**
 * `node:http` without what hangs on it: an import of it reads all its exports, and the one named `WebSocket` loads Node's whole `fetch`,
 * which took a tenth of the service's start.
 */
export const { Agent, createServer, IncomingMessage, STATUS_CODES } = process.getBuiltinModule("node:http");
