import type { DescribedEndpoint } from "../route.ts";
import { sampleOf } from "./sample.ts";

export interface Snippet {
  name: string;
  /** With `$LAZARET_URL` for the address of the service. */
  text: string;
}

/** The same call in several ways, to paste. */
export function snippetsOf(route: DescribedEndpoint): Snippet[] {
  const withClient = clientCalls[route.path];
  return [
    { name: "curl", text: route.doc.example },
    ...(withClient ? [{ name: "@lazaret/client", text: clientText(withClient) }] : []),
    { name: "fetch", text: fetchText(route) },
  ];
}

const FILE = "report.pdf";
const URL = "https://files.example.com/report.pdf";

/** Of the endpoints that the client has a method for. */
const clientCalls: Readonly<Record<string, string>> = {
  "/api/v1/scan/async/download": `const { traceId } = await lazaret.async.download({ url: "${URL}" });
console.log(await lazaret.waitForResult(traceId));`,
  "/api/v1/scan/async/objstore": `const { traceId } = await lazaret.async.object({ bucket: "uploads", key: "${FILE}" });
console.log(await lazaret.waitForResult(traceId));`,
  "/api/v1/scan/async/result": `console.log(await lazaret.async.result("order-4711"));`,
  "/api/v1/scan/sync/download": `console.log(await lazaret.scan({ url: "${URL}" }));`,
  "/api/v1/scan/sync/binary": `console.log(await lazaret.scan({ file: "${FILE}" }));`,
  "/api/v1/scan/sync/form": `console.log(await lazaret.sync.form("${FILE}", { filename: "${FILE}" }));`,
  "/api/v1/scan/sync/objstore": `console.log(await lazaret.scan({ bucket: "uploads", key: "${FILE}" }));`,
  "/api/v1/test": "await lazaret.checkKey();",
};

function clientText(call: string): string {
  return `import { Lazaret } from "@lazaret/client";

const lazaret = new Lazaret({ baseUrl: "$LAZARET_URL" }); // the key is in LAZARET_API_KEY
${call}`;
}

function fetchText({ method, path, open, prefix, console, doc }: DescribedEndpoint): string {
  const { request } = doc;
  const sendsFile = request !== undefined && request.contentType !== "application/json";
  const sendsForm = request?.contentType === "multipart/form-data";
  const headers = [
    ...(open ? [] : [`Authorization: "Bearer " + process.env.${console ? "ADMIN_KEY" : "LAZARET_API_KEY"}`]),
    ...(request && !sendsForm ? [`"Content-Type": "${request.contentType}"`] : []),
  ];
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}"`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(", ")} }`] : []),
    ...(request ? [`body: ${bodyText(request)}`] : []),
  ];
  const address = `"$LAZARET_URL${path.replaceAll(/:(\w+)/g, (_, name) => name.toUpperCase())}${prefix ? `uploads/${FILE}?expires=…&signature=…` : queryText(doc)}"`;
  return [
    ...(sendsFile ? ['import { openAsBlob } from "node:fs";', ""] : []),
    ...(sendsForm ? ["const form = new FormData();", `form.set("file", await openAsBlob("${FILE}"), "${FILE}");`] : []),
    options.length > 0
      ? `const answer = await fetch(${address}, {\n${options.map((each) => `  ${each},\n`).join("")}});`
      : `const answer = await fetch(${address});`,
    "console.log(answer.status, await answer.text());",
  ].join("\n");
}

function bodyText(request: NonNullable<DescribedEndpoint["doc"]["request"]>): string {
  if (!("schema" in request)) {
    return request.contentType === "multipart/form-data" ? "form" : `await openAsBlob("${FILE}")`;
  }
  const { schema } = request;
  const [example] = schema.examples ?? [];
  if (example !== undefined) return `JSON.stringify(${JSON.stringify(example)})`;
  const needed = Object.entries(schema.properties).filter(([name]) => schema.required.includes(name));
  const values = needed.map(([name, field]) => `${name}: ${JSON.stringify(sampleOf(field))}`);
  const traced = "trace_id" in schema.properties ? [`trace_id: "order-4711"`] : [];
  return `JSON.stringify({ ${[...values, ...traced].join(", ")} })`;
}

function queryText({ query = {} }: DescribedEndpoint["doc"]): string {
  const needed = Object.entries(query).filter(([, { required }]) => required);
  const values = needed.map(([name, { schema }]): [string, string] => [name, String(sampleOf(schema))]);
  return needed.length > 0 ? `?${new URLSearchParams(values)}` : "";
}
