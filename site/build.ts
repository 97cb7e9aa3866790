import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, extname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import MiniSearch from "minisearch";
import { escaped, type RenderedPage, renderPage } from "./markdown.ts";
import { type Chapter, chapters, maintainers } from "./pages.ts";

/**
 * The pages of this repository as a site: files that any server of files can serve, under any path, or a browser can open from
 * a folder. Nothing in it asks another host for anything, and all but the search works without scripts.
 */
export interface Site {
  /** Paths of pages in the repository, with where they are in the site. */
  pages: ReadonlyMap<string, string>;
  /** Links that lead nowhere, each as `page: link`. */
  broken: readonly string[];
}

const root = fileURLToPath(new URL("..", import.meta.url));
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** Files that pages name are shown as text, by these. */
const PICTURES: readonly string[] = [".png", ".svg", ".jpg"];

interface Page extends RenderedPage {
  source: string;
  place: string;
  chapter: Chapter;
}

export function buildSite(folder: string): Site {
  const all = [...chapters, { ...maintainers, pages: [...maintainers.pages, ...decisions()] }];
  const places = new Map(all.flatMap(({ pages }) => pages.map((source) => [source, placeOf(source)] as const)));
  const files = new Set<string>();
  const links: { from: string; href: string; page: string; anchor: string }[] = [];
  const broken: string[] = [];

  rmSync(folder, { recursive: true, force: true });
  const pages = all.flatMap((chapter) => chapter.pages.map((source) => render(source, chapter)));
  const ids = new Map(pages.map(({ source, headings }) => [source, new Set(headings.map(({ id }) => id))]));
  for (const { from, href, page, anchor } of links) {
    if (anchor !== "" && !ids.get(page)?.has(anchor)) broken.push(`${from}: ${href}`);
  }
  for (const [index, page] of pages.entries()) {
    write(page.place, layout(page, all, { before: pages[index - 1], after: pages[index + 1] }));
  }
  for (const file of files) copy(file, `files/${file}${PICTURES.includes(extname(file)) ? "" : ".txt"}`);
  for (const name of ["site.css", "site.js"]) copy(relative(root, here(name)), name);
  copy("node_modules/minisearch/dist/umd/index.js", "minisearch.js");
  write("search-index.js", searchIndex(pages));
  return { pages: places, broken };

  function render(source: string, chapter: Chapter): Page {
    const place = placeOf(source);
    const text = readFileSync(join(root, source), "utf8");
    return { ...renderPage(text, (href) => linkFrom(source, place, href)), source, place, chapter };
  }

  function linkFrom(source: string, place: string, href: string): string {
    if (/^[a-z]+:/.test(href)) return href;
    const [path = "", anchor = ""] = href.split("#");
    const target = path === "" ? source : posix.normalize(posix.join(posix.dirname(source), path));
    const page = places.get(target) ?? places.get(posix.join(target, "README.md"));
    if (page !== undefined) {
      links.push({ from: source, href, page: places.has(target) ? target : posix.join(target, "README.md"), anchor });
      return `${path === "" ? "" : fromTo(place, page)}${anchor === "" ? "" : `#${anchor}`}`;
    }
    if (!existsSync(join(root, target))) {
      broken.push(`${source}: ${href}`);
      return "#";
    }
    if (statSync(join(root, target)).isDirectory()) return fromTo(place, folderPage(target));
    files.add(target);
    return fromTo(place, `files/${target}${PICTURES.includes(extname(target)) ? "" : ".txt"}`);
  }

  /** A folder that pages name, as a list of its files. */
  function folderPage(target: string): string {
    const place = `files/${target.replace(/\/$/, "")}/index.html`;
    const names = readdirSync(join(root, target), { withFileTypes: true }).filter((entry) => entry.isFile());
    const items = names.map(({ name }) => {
      files.add(posix.join(target, name));
      const shown = `${name}${PICTURES.includes(extname(name)) ? "" : ".txt"}`;
      return `<li><a href="${escaped(shown)}">${escaped(name)}</a></li>`;
    });
    write(place, `<!doctype html><meta charset="utf-8"><title>${escaped(target)}</title><ul>${items.join("")}</ul>\n`);
    return place;
  }

  function write(place: string, text: string): void {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    writeFileSync(join(folder, place), text);
  }

  function copy(source: string, place: string): void {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    copyFileSync(join(root, source), join(folder, place));
  }
}

function decisions(): string[] {
  const names = readdirSync(join(root, "docs/decisions")).filter((name) => name.endsWith(".md"));
  return names.toSorted().map((name) => `docs/decisions/${name}`);
}

/** `README.md` is the first page, and each other a file of its name. */
function placeOf(source: string): string {
  if (source === "README.md") return "index.html";
  return `${source
    .replace(/^docs\//, "")
    .replace(/\.md$/, "")
    .toLowerCase()}.html`;
}

function fromTo(place: string, target: string): string {
  return posix.relative(posix.dirname(place), target);
}

interface Beside {
  before: Page | undefined;
  after: Page | undefined;
}

function layout(page: Page, all: readonly Chapter[], { before, after }: Beside): string {
  const to = (place: string): string => escaped(fromTo(page.place, place));
  const title =
    page.source === "README.md" ? "Lazaret: malware scanning that you run yourself" : `${page.title} · Lazaret`;
  const beside = (rel: string, other: Page | undefined): string =>
    other ? `<a rel="${rel}" href="${to(other.place)}">${escaped(other.title)}</a>` : "<span></span>";
  const parts = page.headings.filter(({ level }) => level === 2);
  const inside = parts.map(({ id, text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`).join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="${to("site.css")}">
<script src="${to("site.js")}" data-root="${to("index.html").replace(/index\.html$/, "")}" defer></script>
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header>
<a class="name" href="${to("index.html")}">Lazaret</a>
<search hidden><label>Search <input type="search" autocomplete="off" aria-controls="found"></label><ol id="found" aria-live="polite"></ol></search>
</header>
<div class="columns">
<details class="pages" open><summary>All pages</summary>
<nav aria-label="Pages">${all.map((chapter) => chapterList(chapter, page, to)).join("")}</nav>
</details>
<main id="content">
${page.html}
<nav class="beside" aria-label="Page before and after">${beside("prev", before)}${beside("next", after)}</nav>
</main>
${parts.length > 1 ? `<nav class="inside" aria-label="On this page"><p>On this page</p><ul>${inside}</ul></nav>` : ""}
</div>
</body>
</html>
`;
}

function chapterList({ title, purpose, pages }: Chapter, page: Page, to: (place: string) => string): string {
  const items = pages.map((source) => {
    const current = source === page.source ? ' aria-current="page"' : "";
    return `<li><a href="${to(placeOf(source))}"${current}>${escaped(titleOf(source))}</a></li>`;
  });
  return `<h2 title="${escaped(purpose)}">${title}</h2><ul>${items.join("")}</ul>`;
}

const titles = new Map<string, string>();

function titleOf(source: string): string {
  const known = titles.get(source);
  if (known !== undefined) return known;
  if (source === "README.md") return "Five minutes";
  const [, heading = source] = /^# (.+)$/m.exec(readFileSync(join(root, source), "utf8")) ?? [];
  const title = heading.replaceAll("`", "");
  titles.set(source, title);
  return title;
}

/** As a script: from a folder a browser reads nothing else. */
function searchIndex(pages: readonly Page[]): string {
  const search = new MiniSearch({ fields: ["title", "page", "text"], storeFields: ["title", "page", "href"] });
  search.addAll(
    pages.flatMap((page) =>
      page.sections.map(({ id, title, text }) => ({
        id: `${page.place}#${id}`,
        href: `${page.place}#${id}`,
        page: titleOf(page.source),
        title,
        text,
      })),
    ),
  );
  return `window.searchIndex = ${JSON.stringify(JSON.stringify(search))};\n`;
}
