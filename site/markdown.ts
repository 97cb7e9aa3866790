import { Marked, type Tokens } from "marked";

/** A page of Markdown as HTML, and what others may want to know of it. */
export interface RenderedPage {
  title: string;
  html: string;
  headings: readonly Heading[];
  /** By heading, for the search. */
  sections: readonly Section[];
}

interface Heading {
  level: number;
  text: string;
  id: string;
}

interface Section {
  id: string;
  title: string;
  text: string;
}

/** Where a link or a picture of a page leads to in the site. */
export type LinkTo = (href: string) => string;

export function renderPage(markdown: string, linkTo: LinkTo): RenderedPage {
  const headings: Heading[] = [];
  const sections: { id: string; title: string; parts: string[] }[] = [];
  const idOf = slugs();
  const marked = new Marked({ gfm: true });
  const tokens = marked.lexer(markdown);
  const ids = new Map<unknown, string>();

  for (const token of tokens) {
    if (token.type === "heading") {
      const { depth, text } = token as Tokens.Heading;
      const words = plainText(text);
      const id = idOf(words);
      ids.set(token, id);
      headings.push({ level: depth, text: words, id });
      sections.push({ id, title: words, parts: [] });
    } else sections.at(-1)?.parts.push(plainText(token.raw));
  }

  marked.use({
    renderer: {
      heading(token) {
        const id = ids.get(token) ?? "";
        const inner = this.parser.parseInline(token.tokens);
        const anchor = token.depth === 1 ? "" : ` <a class="anchor" href="#${id}" aria-label="Link to this part">#</a>`;
        return `<h${token.depth} id="${id}">${inner}${anchor}</h${token.depth}>\n`;
      },
      link({ href, tokens: inner }) {
        return `<a href="${escaped(linkTo(href))}">${this.parser.parseInline(inner)}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escaped(linkTo(href))}" alt="${escaped(text)}" loading="lazy">`;
      },
      code({ text, lang = "" }) {
        return `<pre data-lang="${escaped(lang)}"><code>${escaped(text)}</code></pre>\n`;
      },
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: string): string =>
          `<tr>${cells.map(({ tokens: inner }) => `<${tag}>${this.parser.parseInline(inner)}</${tag}>`).join("")}</tr>`;
        const head = token.header.some(({ text }) => text !== "") ? `<thead>${row(token.header, "th")}</thead>` : "";
        const body = token.rows.map((cells) => row(cells, "td")).join("\n");
        return `<div class="wide" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`;
      },
      // Our pages have none, and what looks like it is text.
      html: ({ text }) => escaped(text),
    },
  });
  const html = marked.parser(tokens);
  const title = headings[0]?.text ?? "";
  return {
    title,
    html,
    headings,
    sections: sections.map(({ id, title: of, parts }) => ({ id, title: of, text: parts.join(" ") })),
  };
}

/** The names that hosts of repositories give to headings, so that a link holds there and here. */
function slugs(): (words: string) => string {
  const taken = new Map<string, number>();
  return (words) => {
    const slug = words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-");
    const times = taken.get(slug) ?? 0;
    taken.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  };
}

/** Words without marks, as they are searched and shown in lists. */
function plainText(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/^```\w*$/gm, "")
    .replaceAll(/[`*]|^#+ /gm, "")
    .replaceAll(/^[-:| ]+$|\|/gm, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
