import { addCopyButton, element } from "./parts.js";
import { addTryIt } from "./try-it.js";

/** Where the API is, as the browser has it: no header of a request gets into the page, and the page may lie under any path. */
const base = new URL(".", location.href).href.replace(/\/$/, "");

/** Only an address that a shell and a program take as it is. */
if (/^https?:\/\/([\w.-]+|\[[0-9a-f:.]+\])(:\d+)?(\/[\w.~-]+)*$/.test(base)) {
  for (const each of document.querySelectorAll(".address")) each.textContent = base;
}

const entries = [...document.querySelectorAll("article")];
for (const pre of document.querySelectorAll("pre")) addCopyButton(pre);
for (const entry of entries) if (!("prefix" in entry.dataset)) addTryIt(entry, base);
addTheme();
addSearch();
addReveal();
addPlace();

/** The colours of the system, or the others. */
function addTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = element("button", { type: "button", className: "theme" });
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `${isDark() ? "Light" : "Dark"} colours`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    show();
  });
  const remembered = recall();
  if (remembered) root.dataset.theme = remembered;
  system.addEventListener("change", show);
  show();
  document.querySelector("header")?.append(button);
}

/** @param {string} theme */
function remember(theme) {
  try {
    localStorage.setItem("lazaret-docs-theme", theme);
  } catch {
    // Storage may be turned off; then it holds for this view.
  }
}

function recall() {
  try {
    const theme = localStorage.getItem("lazaret-docs-theme");
    return theme === "light" || theme === "dark" ? theme : undefined;
  } catch {
    return undefined;
  }
}

function addSearch() {
  const contents = document.querySelector("nav");
  const input = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: false });
  input.setAttribute("aria-keyshortcuts", "/");
  input.placeholder = "path, word or code   /";
  const label = element("label", { htmlFor: "search", textContent: "Search" });
  const count = element("p", { className: "count" });
  count.setAttribute("role", "status");
  contents?.prepend(element("div", { className: "search" }, label, input, count));

  input.addEventListener("input", () => narrow(input.value, count));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      narrow("", count);
    }
    const [first] = entries.filter((entry) => !entry.hidden);
    if (event.key === "Enter" && first && input.value) location.hash = first.id;
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

/**
 * Shows what has every word.
 *
 * @param {string} wanted
 * @param {HTMLElement} count
 */
function narrow(wanted, count) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  for (const entry of entries) {
    entry.hidden = !words.every((word) => entry.dataset.search?.includes(word));
    const link = document.querySelector(`nav a[href="#${entry.id}"]`);
    const line = link?.closest("li");
    if (line) line.hidden = entry.hidden;
  }
  for (const group of document.querySelectorAll("section.group")) {
    const inside = [...group.querySelectorAll("article")];
    if (group instanceof HTMLElement && inside.length > 0) group.hidden = inside.every((entry) => entry.hidden);
  }
  for (const list of document.querySelectorAll("nav ul")) {
    const none = [...list.children].every((line) => line instanceof HTMLElement && line.hidden);
    if (list instanceof HTMLElement) list.hidden = none;
    const heading = list.previousElementSibling;
    if (heading instanceof HTMLElement) heading.hidden = none;
  }
  for (const folded of document.querySelectorAll("details.folded")) {
    if (folded instanceof HTMLDetailsElement) folded.open = words.length > 0 || holdsTarget(folded);
  }
  const found = entries.filter((entry) => !entry.hidden).length;
  count.textContent = words.length > 0 ? `${found} of ${entries.length} endpoints` : "";
}

/** @param {Element} folded */
function holdsTarget(folded) {
  const target = document.getElementById(location.hash.slice(1));
  const link = document.querySelector(`nav a[href="#${target?.id}"]`);
  return folded.contains(target ?? document) || folded.contains(link ?? document);
}

/** What a link leads to is shown, also when it is folded or was left out by a search. */
function addReveal() {
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const entry = target.closest("article");
    const input = document.querySelector("#search");
    if (entry?.hidden && input instanceof HTMLInputElement) {
      input.value = "";
      input.dispatchEvent(new Event("input"));
    }
    const link = document.querySelector(`nav a[href="#${target.id}"]`);
    for (const part of [target, link]) part?.closest("details.folded")?.setAttribute("open", "");
    if (narrowScreen.matches) closeContents();
    target.scrollIntoView();
  };
  const narrowScreen = matchMedia("(max-width: 60rem)");
  const contents = document.querySelector("#contents");
  const closeContents = () => contents?.removeAttribute("open");
  if (narrowScreen.matches) closeContents();
  narrowScreen.addEventListener("change", ({ matches }) => contents?.toggleAttribute("open", !matches));
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
}

/** Marks in the contents which endpoint is read. */
function addPlace() {
  const seen = new IntersectionObserver(
    (changes) => {
      for (const { isIntersecting, target } of changes) {
        const link = document.querySelector(`nav a[href="#${target.id}"]`);
        if (!link) continue;
        if (!isIntersecting) link.removeAttribute("aria-current");
        else link.setAttribute("aria-current", "true");
      }
    },
    { rootMargin: "-20% 0px -79% 0px" },
  );
  for (const entry of entries) seen.observe(entry);
}
