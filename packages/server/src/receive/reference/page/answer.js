import { addCopyButton, element } from "./parts.js";

/** Of an answer, at most so much is shown. */
const MOST_SHOWN = 256 * 1024;
/** Those that say something to people. */
const HEADERS = ["content-type", "location", "retry-after", "deprecation", "www-authenticate", "x-request-id"];

/**
 * @typedef {object} AnswerView
 * @property {HTMLElement} root
 * @property {(text: string) => void} say
 * @property {(response: Response, startedAt: number, curl: string) => Promise<void>} show
 * @property {() => void} stopped What has come stays.
 * @property {(why: string, curl: string) => void} failed
 */

/** @returns {AnswerView} */
export function answerView() {
  const line = element("p", { className: "status" });
  line.setAttribute("role", "status");
  const details = element("div");
  const root = element("div", { className: "answer" }, line, details);

  return {
    root,
    say(text) {
      line.className = "status";
      line.textContent = text;
      details.replaceChildren();
    },
    stopped() {
      line.textContent += " · stopped";
    },
    failed(why, curl) {
      line.className = "status s5";
      line.textContent = why;
      details.replaceChildren(...titled("The same in a terminal", curl));
    },
    async show(response, startedAt, curl) {
      details.replaceChildren(headersOf(response));
      const [body] = titled("Body", "");
      details.append(...titled("The same in a terminal", curl));
      line.className = `status s${String(response.status)[0]}`;
      const say = (/** @type {number | undefined} */ bytes) => {
        const ms = Math.round(performance.now() - startedAt);
        const size = bytes === undefined ? "" : ` · ${bytes} bytes`;
        line.textContent = `${response.status} ${response.statusText} · ${ms} ms${size}`;
      };
      say(undefined);
      if (!isText(response)) {
        const { bytes } = await readText(response, () => {});
        details.prepend(element("p", { textContent: `A body of ${bytes} bytes, which is not text.` }));
        return say(bytes);
      }
      const shown = body?.querySelector("pre");
      if (!body || !shown) return;
      const { text, bytes, cut } = await readText(response, (soFar) => {
        shown.textContent = visible(soFar);
        if (!body.isConnected) details.prepend(body);
      });
      shown.textContent = visible(pretty(text));
      if (cut) body.append(element("p", { textContent: "There is more, which is not shown here." }));
      say(bytes);
    },
  };
}

/**
 * @param {string} title
 * @param {string} text
 * @returns {HTMLElement[]}
 */
function titled(title, text) {
  const pre = element("pre", { textContent: text, tabIndex: 0 });
  const box = element("div", {}, element("h4", { textContent: title }), pre);
  addCopyButton(pre);
  return [box];
}

/** @param {Response} response */
function headersOf({ headers }) {
  const list = element("dl", { className: "headers" });
  for (const name of HEADERS) {
    const value = headers.get(name);
    if (value !== null) list.append(element("dt", {}, name), element("dd", {}, value));
  }
  return list;
}

/** @param {Response} response */
function isText({ headers }) {
  const type = headers.get("content-type") ?? "text/plain";
  return /^text\/|json|pem|xml|csv/.test(type);
}

/**
 * As it comes: an event stream has no end.
 *
 * @param {Response} response
 * @param {(soFar: string) => void} onText
 */
async function readText(response, onText) {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
    onText(text);
    if (bytes > MOST_SHOWN) {
      await reader.cancel();
      return { text, bytes, cut: true };
    }
  }
  return { text, bytes, cut: false };
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/**
 * Characters that turn the direction of what follows are shown as what they are.
 *
 * @param {string} text
 */
function visible(text) {
  const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  return text.replace(turns, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
