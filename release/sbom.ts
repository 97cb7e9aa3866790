import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, SPDX, Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { type Manifest, manifestOf, root } from "./project.ts";

/** An entry of package-lock.json. */
interface Locked {
  version?: string;
  integrity?: string;
  license?: string;
  resolved?: string;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** What is inside a package, or is installed with it, as the lock file has it: a bill of materials that a strict validator accepts. */
export async function billOfMaterials(
  folders: readonly string[],
  version: string,
  epochSeconds: number,
): Promise<string> {
  const [first = ""] = folders;
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages as Record<string, Locked>;
  const components = new Map<string, Models.Component>();

  function add(place: string): Models.Component {
    const known = components.get(place);
    if (known) return known;
    const locked = lock[place] ?? {};
    const made = componentOf(nameOf(place), locked);
    components.set(place, made);
    for (const found of neededBy(place, locked)) made.dependencies.add(add(found).bomRef);
    return made;
  }
  function neededBy(place: string, { dependencies = {}, optionalDependencies = {} }: Locked): string[] {
    const names = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !isOurs(name));
    return names.flatMap((name) => placeOf(name, place, lock) ?? []);
  }

  const described = manifestOf(first);
  const subject = componentOf(described.name, { version, license: described.license });
  subject.description = described.description;
  for (const folder of folders) {
    const { dependencies = {} } = manifestOf(folder);
    const used = Object.fromEntries(Object.entries(dependencies).filter(([name]) => !BUILD_TOOLS.includes(name)));
    for (const place of neededBy(folder, { dependencies: used })) subject.dependencies.add(add(place).bomRef);
  }

  const bom = new Models.Bom({ components: new Models.ComponentRepository(components.values()) });
  bom.metadata.component = subject;
  bom.metadata.timestamp = new Date(epochSeconds * 1000);
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  // The same contents have the same number.
  bom.serialNumber = `urn:uuid:${uuidOf(serializer.serialize(bom, { sortLists: true }))}`;
  const text = serializer.serialize(bom, { sortLists: true, space: 2 });
  const problem = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text);
  if (problem !== null)
    throw new Error(`the bill of materials of ${subject.name} is not valid: ${JSON.stringify(problem)}`);
  return `${text}\n`;
}

/** Runs when the console is built; nothing of it is in the pages. */
const BUILD_TOOLS = ["vite"];

/** The contract, the client and the console are part of the packages. */
function isOurs(name: string): boolean {
  return name.startsWith("@lazaret/");
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** Where Node would find a package that is asked for from here. Optional ones may be nowhere. */
function placeOf(name: string, from: string, lock: Record<string, Locked>): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (place in lock) return place;
    if (folder === "") return undefined;
  }
}

function componentOf(fullName: string, { version = "", integrity = "", license }: Locked): Models.Component {
  const [group, name] = fullName.startsWith("@") ? (fullName.split("/") as [string, string]) : [undefined, fullName];
  const purl = `pkg:npm/${fullName.replace("@", "%40")}@${version}`;
  const made = new Models.Component(Enums.ComponentType.Library, name, { version, purl, bomRef: purl });
  if (group !== undefined) made.group = group;
  const [algorithm, digest] = integrity.split("-");
  if (algorithm === "sha512" && digest !== undefined) {
    made.hashes.set(Enums.HashAlgorithm["SHA-512"], Buffer.from(digest, "base64").toString("hex"));
  }
  if (license !== undefined) made.licenses.add(licenseOf(license));
  return made;
}

function licenseOf(text: Manifest["license"]): Models.License {
  if (SPDX.isSupportedSpdxId(text)) return new Models.SpdxLicense(text);
  return / (?:OR|AND|WITH) /.test(text) ? new Models.LicenseExpression(text) : new Models.NamedLicense(text);
}

/** As a UUID of version 8, which is for those who make their own. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
