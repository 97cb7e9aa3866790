import type { Dialect } from "./request-answer.ts";
import type { PlacedEndpoint } from "./route.ts";

/**
 * Two dialects of the API are served side by side. The spec's is written with the prefix `/api/v1` and the path segment
 * `objstore`; hosted products of the same family write `/v1` and `s3`. Jobs that came by `/v1` have their callbacks signed
 * over the tenant's id as well. All that the second dialect differs in is decided here and in family-routes.ts.
 */
const SPEC_PREFIX = "/api/v1/";
const FAMILY_PREFIX = "/v1/";

/** The other names of an endpoint. */
export function aliases<Placed extends PlacedEndpoint>(route: Placed): Placed[] {
  if (!route.path.startsWith(SPEC_PREFIX)) return [];
  const family = route.path.replace(SPEC_PREFIX, FAMILY_PREFIX);
  const paths = [family, ...[route.path, family].filter(hasObjects).map(withS3)];
  return paths.map((path) => ({
    ...route,
    path,
    dialect: dialectOf(path),
    aliasOf: route.path,
    ...(route.doc && {
      doc: {
        ...route.doc,
        group: "Other dialect",
        description: `Another name for \`${route.path}\`.${route.doc.description ? ` ${route.doc.description}` : ""}`,
        example: route.doc.example.replace(route.path, path),
      },
    }),
  }));
}

function hasObjects(path: string): boolean {
  return path.endsWith("/objstore");
}

function withS3(path: string): string {
  return path.replace(/objstore$/, "s3");
}

export function dialectOf(path: string): Dialect {
  return path.startsWith(FAMILY_PREFIX) ? "family" : "spec";
}

/** A path of the spec as the caller would write it. */
export function pathIn(dialect: Dialect, path: string): string {
  return dialect === "family" ? path.replace(SPEC_PREFIX, FAMILY_PREFIX) : path;
}
