import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** What publint and arethetypeswrong have to say against a tarball; nothing, if it can be published. */
export async function problemsOf(tarball: string): Promise<string[]> {
  const bytes = new Uint8Array(readFileSync(tarball));
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, level: "warning", strict: true });
  const checked = await checkPackage(createPackageFromTarballData(bytes));
  if (!checked.types) return ["it has no types"];
  const manifest = pkg as { main?: string };
  const types = checked.problems.filter((problem) => !(manifest.main === undefined && isOfOldLoaders(problem)));
  return [
    ...messages.map((message) => `publint: ${formatMessage(message, pkg)}`),
    ...types.map((problem) => `arethetypeswrong: ${JSON.stringify(problem)}`),
  ];
}

/** A package for ESM alone has nothing for loaders that do not read exports, and Node loads it by require() as well. */
function isOfOldLoaders(problem: Problem): boolean {
  if (problem.kind === "CJSResolvesToESM") return true;
  return "resolutionKind" in problem && problem.resolutionKind === "node10";
}
