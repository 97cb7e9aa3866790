import type { AdminScanResult, AdminSource } from "@lazaret/contract/admin";
import { signal } from "@preact/signals";
import { bytes } from "./text.ts";
import { ApiProblem, csrf, post, problemOf, session, unreachable, urlOf } from "./wire/api.ts";

/** What was given to scan since this page was opened, newest first. It goes on while the reader looks at other pages. */
export interface ScanRow {
  id: number;
  source: AdminSource;
  size: number | undefined;
  state:
    | { at: "waiting" }
    | { at: "sending"; sent: number }
    | { at: "scanning" }
    | { at: "done"; result: AdminScanResult }
    | { at: "failed"; problem: unknown };
}

const AT_ONCE = 3;
/** Of more than these the oldest that are finished go. */
const MOST_ROWS = 1000;

export const rows = signal<ScanRow[]>([]);
const line: { id: number; run: () => Promise<AdminScanResult> }[] = [];
let running = 0;
let lastId = 0;

export function scanFiles(files: readonly File[]): void {
  for (const file of files) {
    const name = file.webkitRelativePath || pathOf(file);
    const row = add({ kind: "upload", name }, file.size);
    const problem = tooLarge(file.size);
    if (problem) change(row, { at: "failed", problem });
    else enqueue(row, () => send(row, name, file));
  }
}

export function scanUrl(url: string): void {
  const host = URL.canParse(url) ? new URL(url).host : "";
  const row = add({ kind: "url", url: url.replace(/\?.*$/s, "?…"), host }, undefined);
  enqueue(row, () => atServer(row, "scan/url", { url }));
}

export function scanObject(object: { bucket: string; key: string; version?: string }): void {
  const row = add({ kind: "object", ...object }, undefined);
  enqueue(row, () => atServer(row, "scan/object", object));
}

/** The harmless test file, put together here so that no antivirus stops over this page. */
export function eicarFile(): File {
  const halves = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
  return new File([halves.join("")], "eicar.com");
}

/** Refused before a byte is sent: the server would refuse it after all of them. */
function tooLarge(size: number): ApiProblem | undefined {
  const most = session.value?.limits.max_upload_bytes;
  if (most === undefined || size <= most) return undefined;
  return new ApiProblem(413, {
    code: "too_large",
    message: `larger than ${bytes(most)}, so it was not sent`,
    hint: "put it where the server can fetch it and submit a job for its link or object: jobs take larger files",
  });
}

/** Where files come from folders that were dropped, the browser gives no path: the reader of the folder keeps it here. */
const paths = new WeakMap<File, string>();
export function withPath(file: File, path: string): File {
  paths.set(file, path);
  return file;
}

function pathOf(file: File): string {
  return paths.get(file) ?? file.name;
}

function add(source: AdminSource, size: number | undefined): number {
  lastId += 1;
  const kept = rows.value.length < MOST_ROWS ? rows.value : withoutOldest(rows.value);
  rows.value = [{ id: lastId, source, size, state: { at: "waiting" } }, ...kept];
  return lastId;
}

function withoutOldest(all: ScanRow[]): ScanRow[] {
  const oldest = all.findLastIndex(({ state }) => state.at === "done" || state.at === "failed");
  return oldest === -1 ? all : all.toSpliced(oldest, 1);
}

function change(id: number, state: ScanRow["state"]): void {
  rows.value = rows.value.map((row) => (row.id === id ? { ...row, state } : row));
}

function enqueue(id: number, run: () => Promise<AdminScanResult>): void {
  line.push({ id, run });
  next();
}

function next(): void {
  const first = running < AT_ONCE ? line.shift() : undefined;
  if (!first) return;
  running += 1;
  first
    .run()
    .then(
      (result) => change(first.id, { at: "done", result }),
      (problem: unknown) => change(first.id, { at: "failed", problem }),
    )
    .finally(() => {
      running -= 1;
      next();
    });
}

function atServer(id: number, path: string, body: object): Promise<AdminScanResult> {
  change(id, { at: "scanning" });
  return post<AdminScanResult>(path, body);
}

/** XMLHttpRequest, since fetch does not say how much it has sent. */
function send(id: number, name: string, file: File): Promise<AdminScanResult> {
  const url = urlOf("scan/upload", { name });
  const request = new XMLHttpRequest();
  request.open("POST", url);
  request.setRequestHeader("content-type", "application/octet-stream");
  for (const [header, value] of Object.entries(csrf())) request.setRequestHeader(header, value);
  request.upload.onprogress = ({ loaded }) => change(id, { at: "sending", sent: loaded });
  request.upload.onload = () => change(id, { at: "scanning" });
  change(id, { at: "sending", sent: 0 });
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(unreachable());
    request.onabort = request.onerror;
    request.onload = () => {
      if (request.status === 200) resolve(JSON.parse(request.responseText) as AdminScanResult);
      else reject(problemOf(request.status, request.responseText, url));
    };
    request.send(file);
  });
}
