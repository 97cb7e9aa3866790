// The search, the list of pages on narrow screens, and buttons that copy commands. Everything else works without.
const script = document.currentScript;
const root = script?.dataset.root ?? "";
const place = document.querySelector("search");
const input = place?.querySelector("input");
const found = document.querySelector("#found");
let searching;

/** The index is loaded by whoever begins to search, and by nobody else. */
function loadSearch() {
  searching ??= ["minisearch.js", "search-index.js"]
    .reduce((before, name) => before.then(() => load(root + name)), Promise.resolve())
    .then(() =>
      window.MiniSearch.loadJSON(window.searchIndex, {
        fields: ["title", "page", "text"],
        storeFields: ["title", "page", "href"],
      }),
    );
  return searching;
}

function load(src) {
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = src;
    element.addEventListener("load", resolve);
    element.addEventListener("error", reject);
    document.head.append(element);
  });
}

async function show() {
  const search = await loadSearch();
  const options = { prefix: true, fuzzy: 0.15, combineWith: "AND", boost: { title: 4, page: 2 } };
  const results = input.value.trim() === "" ? [] : search.search(input.value, options).slice(0, 12);
  const items = results.map(({ href, title, page }) => {
    const link = document.createElement("a");
    link.href = root + href;
    link.append(title === page ? title : `${page}: ${title}`);
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  if (items.length === 0 && input.value.trim() !== "") {
    const none = document.createElement("li");
    none.append("Nothing found.");
    items.push(none);
  }
  found.replaceChildren(...items);
}

if (place && input && found) {
  place.hidden = false;
  input.addEventListener("focus", () => void loadSearch());
  input.addEventListener("input", () => void show());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement?.tagName !== "INPUT") {
      event.preventDefault();
      input.focus();
    }
    if (event.key === "Escape") found.replaceChildren();
    if (event.key === "Enter" && document.activeElement === input) found.querySelector("a")?.click();
  });
}

const pages = document.querySelector("details.pages");
if (pages && matchMedia("(max-width: 50rem)").matches) pages.open = false;
document.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" });

/** Without prompts, and without what a command answers. */
function commandsOf(text, lang) {
  if (lang !== "console") return text;
  const lines = text.split("\n").filter((line) => line.startsWith("$ "));
  return lines.map((line) => line.slice(2)).join("\n");
}

for (const block of document.querySelectorAll("pre")) {
  const { lang = "" } = block.dataset;
  if (lang === "text" || !navigator.clipboard) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.append("Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(commandsOf(block.querySelector("code").textContent, lang));
    button.textContent = "Copied";
  });
  block.append(button);
}
