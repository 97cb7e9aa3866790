import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { Problem } from "../problem.ts";
import { type Answer, renderedOnce } from "../request-answer.ts";

/** In a bundle for Lambda it lies beside the code, too. */
const folder = new URL("./page/", import.meta.url);
const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Script and style of the reference. */
export interface PageFiles {
  /** Their folder, relative to the page; another one for other contents, so that browsers may keep them. */
  folder: string;
  /** Throws the 404 problem. */
  answer(path: string): Answer;
}

export function pageFiles(): PageFiles {
  const names = readdirSync(folder).filter((name) => extname(name) in types);
  const files = names.toSorted().map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));
  const digest = hash("sha256", JSON.stringify(files), "hex").slice(0, 16);
  const answers = new Map(files.map(({ name, text }) => [`/docs/${digest}/${name}`, fileAnswer(name, text)]));
  return {
    folder: `docs/${digest}`,
    answer(path) {
      const answer = answers.get(path);
      if (answer) return answer;
      throw new Problem(404, "not_found", { message: "there is no such file", hint: "the reference is at /docs" });
    },
  };
}

function fileAnswer(name: string, text: string): Answer {
  const headers = {
    "Content-Type": types[extname(name)] ?? "",
    "Cache-Control": "public, max-age=31536000, immutable",
  };
  return renderedOnce({ status: 200, text, headers });
}
