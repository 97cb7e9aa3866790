import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

/** Loose on purpose: what fields there may be the schemas say. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: as above
  [field: string]: any;
}

export interface Rendered {
  name: string;
  objects: KubernetesObject[];
}

export const projectPath = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
export const projectFile = (path: string): string => readFileSync(projectPath(path), "utf8");

/** What the chart made: the manifests for people, and the variants that have what these have not. */
export function everythingRendered(): Rendered[] {
  return ["deploy/kubernetes", "packages/server/test/deploy/rendered"].flatMap((folder) =>
    readdirSync(projectPath(folder))
      .filter((name) => name.endsWith(".yaml"))
      .map((name) => ({ name, objects: objectsIn(projectFile(`${folder}/${name}`)) })),
  );
}

function objectsIn(text: string): KubernetesObject[] {
  // YAML 1.1, as kubectl and Helm read it: 0440 is a number to the base of eight.
  return parseAllDocuments(text, { version: "1.1", strict: true, uniqueKeys: true }).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() ?? [];
  });
}

export interface PodTemplate {
  /** Kind and name of the object that it is of. */
  of: string;
  labels: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  spec: any;
  /** Those of volumeClaimTemplates. */
  claims: string[];
}

export function podsOf(objects: readonly KubernetesObject[]): PodTemplate[] {
  return objects.flatMap(({ kind, metadata, spec }) => {
    const of = `${kind} ${metadata.name}`;
    if (kind === "Pod") return { of, labels: metadata.labels, spec, claims: [] };
    if (!spec?.template) return [];
    const claims = (spec.volumeClaimTemplates ?? []).map((claim: KubernetesObject) => claim.metadata.name);
    return { of, labels: spec.template.metadata.labels, spec: spec.template.spec, claims };
  });
}

/** All containers of a pod, those before the start too. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function containersOf({ spec }: PodTemplate): any[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

export function selects(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
