import { errorSchema, type Schema } from "@lazaret/contract";
import type { DescribedEndpoint, PlacedEndpoint, RouteDoc } from "../route.ts";

/** The API as an OpenAPI 3.1 document, made of the routes and of the very schemas that check their requests. */
export function openApi(routes: readonly DescribedEndpoint[], version: string): Record<string, unknown> {
  const schemas: Record<string, Schema> = {};
  const named = (schema: Schema): object => {
    if (!schema.title) return schema;
    schemas[schema.title] = schema;
    return { $ref: `#/components/schemas/${schema.title}` };
  };

  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(NAMED_PART, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, named) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Lazaret",
      version,
      description: "Scans files for malware and says `clean`, `infected` or `no` (not scanned).",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "One of the keys in ApiKeys." } },
    },
  };
}

function operation(route: DescribedEndpoint, named: (schema: Schema) => object): object {
  const { doc } = route;
  return {
    operationId: operationId(route),
    tags: [doc.group],
    summary: doc.summary,
    ...(doc.description && { description: doc.description }),
    ...(doc.deprecated && { deprecated: true }),
    ...(route.aliasOf && { "x-alias-of": route.aliasOf }),
    ...(route.open && { security: [] }),
    ...parametersOf(route),
    ...(doc.request && { requestBody: requestBody(doc.request, named) }),
    responses: {
      [doc.success.status]: {
        description: doc.success.description,
        ...(doc.successHeaders && { headers: headersOf(doc.successHeaders) }),
        ...(doc.success.schema && { content: { "application/json": { schema: named(doc.success.schema) } } }),
        ...(doc.success.contentType && { content: { [doc.success.contentType]: { schema: { type: "string" } } } }),
      },
      ...Object.fromEntries(Object.entries(doc.also ?? {}).map(([status, description]) => [status, { description }])),
      ...Object.fromEntries(
        Object.entries(doc.errors).map(([status, codes]) => [
          status,
          {
            description: `\`code\`: ${codes.join(", ")}`,
            content: { "application/json": { schema: named(errorSchema) } },
          },
        ]),
      ),
    },
  };
}

/** `:id` in a path. */
const NAMED_PART = /:(\w+)/g;

function parametersOf({ path, doc }: DescribedEndpoint): { parameters?: object[] } {
  const named = [...path.matchAll(NAMED_PART)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const all = [...named, ...(doc.query ? parameters(doc.query) : [])];
  return all.length > 0 ? { parameters: all } : {};
}

function parameters(query: NonNullable<RouteDoc["query"]>): object[] {
  return Object.entries(query).map(([name, { required = false, ...rest }]) => ({
    name,
    in: "query",
    required,
    ...rest,
  }));
}

function headersOf(headers: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

function requestBody(request: NonNullable<RouteDoc["request"]>, named: (schema: Schema) => object): object {
  const schema =
    request.contentType === "application/json"
      ? named(request.schema)
      : request.contentType === "multipart/form-data"
        ? {
            type: "object",
            properties: { file: { type: "string", contentMediaType: "application/octet-stream" } },
            required: ["file"],
          }
        : {};
  return { required: true, content: { [request.contentType]: { schema } } };
}

/** `POST /api/v1/scan/sync/binary` → `scanSyncBinary`; those of the console have names of their own. */
function operationId(route: PlacedEndpoint): string {
  if (route.console) return route.name ?? "";
  const words = route.path.replace(/^\/api\/v1/, "").match(/[a-z0-9]+/g) ?? [];
  return words.map((word, index) => (index === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
}
