import { parentPort, workerData } from "node:worker_threads";
import { readTenantsFile } from "./tenants-file.ts";

/** Reads a tenants file once: thousands of keys take a second, in which nothing else would be answered. */
parentPort?.postMessage(readTenantsFile(workerData as string));
