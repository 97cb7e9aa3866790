/**
 * An element with its properties and children. Text is only ever a text node.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Partial<HTMLElementTagNameMap[Name]>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** @param {HTMLPreElement} pre */
export function addCopyButton(pre) {
  const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
  const box = element("div", { className: "code" });
  pre.replaceWith(box);
  box.append(pre, button);
  button.addEventListener("click", async () => {
    button.textContent = (await copied(pre)) ? "Copied" : "Select and copy";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
}

/** @param {HTMLElement} shown */
async function copied(shown) {
  try {
    await navigator.clipboard.writeText(shown.textContent ?? "");
    return true;
  } catch {
    // Only pages by https or from this machine may write to the clipboard: then it is selected, to be copied by hand.
    getSelection()?.selectAllChildren(shown);
    return false;
  }
}
