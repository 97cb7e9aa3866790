import { answerView } from "./answer.js";
import { element } from "./parts.js";
import { callOf, curlOf, send } from "./request.js";

/**
 * The part of the OpenAPI document that is read here.
 *
 * @typedef {{ type?: string, enum?: string[], description?: string, examples?: unknown[], $ref?: string, properties?: Record<string, Schema>, required?: string[], additionalProperties?: object }} Schema
 * @typedef {{ schema?: Schema, example?: unknown }} Content
 * @typedef {{ name: string, in: "query" | "path", required?: boolean, description?: string, schema?: Schema }} Parameter
 * @typedef {{ parameters?: Parameter[], requestBody?: { content: Record<string, Content> } }} Operation
 * @typedef {{ paths: Record<string, Record<string, Operation>>, components?: { schemas?: Record<string, Schema> } }} Document
 * @typedef {{ value(): string, field: HTMLElement }} Field
 */

/** In memory alone, for all endpoints of the page: they are gone with it. */
const keys = { api: "", admin: "" };
/** @type {Promise<Document> | undefined} */
let reading;

/**
 * @param {HTMLElement} entry
 * @param {string} base
 */
export function addTryIt(entry, base) {
  const panel = element("details", { className: "try" }, element("summary", {}, "Try it"));
  entry.querySelector(".sides")?.before(panel);
  panel.addEventListener(
    "toggle",
    async () => {
      try {
        panel.append(await form(entry, base));
      } catch {
        reading = undefined;
        panel.append(element("p", { textContent: "openapi.json could not be read. Load the page again." }));
      }
    },
    { once: true },
  );
  panel.addEventListener("toggle", fillKeys);
}

/** @param {string} base */
function read(base) {
  reading ??= fetch(`${base}/openapi.json`, { credentials: "omit" }).then((response) => response.json());
  return reading;
}

/**
 * @param {HTMLElement} entry
 * @param {string} base
 */
async function form({ id, dataset }, base) {
  const { method = "get", path = "" } = dataset;
  const kind = dataset.key === "api" || dataset.key === "admin" ? dataset.key : undefined;
  const variable = kind === "admin" ? "ADMIN_KEY" : "LAZARET_API_KEY";
  const document = await read(base);
  const operation = document.paths[path]?.[method] ?? {};
  const parameters = (operation.parameters ?? []).map((each) => ({
    ...each,
    ...textField(`${id}-${each.name}`, each.name, each.schema ?? {}, each.required),
  }));
  const body = bodyFields(id, operation, document);
  const answer = answerView();
  const button = element("button", { className: "send", textContent: "Send" });
  const stop = element("button", { type: "button", textContent: "Stop", hidden: true });
  const made = element(
    "form",
    { noValidate: true },
    ...(kind ? [keyField(id, kind)] : []),
    ...parameters.map(({ field }) => field),
    ...body.fields,
    element("p", { className: "buttons" }, button, stop),
  );
  /** @type {AbortController | undefined} */
  let underWay;
  stop.addEventListener("click", () => underWay?.abort());
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    underWay?.abort();
    const here = new AbortController();
    underWay = here;
    stop.hidden = false;
    const key = kind ? keys[kind] : "";
    const given = parameters.map((each) => ({ name: each.name, in: each.in, value: each.value() }));
    const call = callOf({ method, base, path, key, parameters: given, body: body.value() });
    const started = performance.now();
    answer.say("Sending …");
    try {
      await answer.show(await send(call, here.signal), started, curlOf(call, variable));
    } catch (error) {
      if (here.signal.aborted) answer.stopped();
      else answer.failed(whyNot(error, call.body), curlOf(call, variable));
    } finally {
      if (underWay === here) stop.hidden = true;
    }
  });
  return element("div", { className: "sides" }, made, answer.root);
}

/**
 * A browser does not say more than that there was no answer.
 *
 * @param {unknown} error
 * @param {import("./request.js").Body} body
 */
function whyNot(error, body) {
  const file = body && "file" in body ? body.file : undefined;
  if (error instanceof TypeError && /header/i.test(error.message)) return "The key has characters that no key has.";
  if (file && file.size > 200 * 1024 * 1024)
    return "413: the file is larger than 200 MB, and the server ended the upload. Use the asynchronous API.";
  return "No answer: the service cannot be reached, or the connection was cut. Is it running? A file over the limit of a proxy or of the server is cut off, too.";
}

/**
 * @param {string} id
 * @param {"api" | "admin"} kind
 */
function keyField(id, kind) {
  const name = kind === "api" ? "API key" : "Key of the console";
  const { field, input } = labelled(`${id}-key`, name, "Stays in the memory of this page.", true);
  input.type = "password";
  input.dataset.key = kind;
  input.value = keys[kind];
  input.addEventListener("input", () => {
    keys[kind] = input.value.trim();
  });
  return field;
}

/** What was typed at one endpoint holds for all. */
function fillKeys() {
  for (const input of document.querySelectorAll("input[data-key]")) {
    if (input instanceof HTMLInputElement) input.value = input.dataset.key === "admin" ? keys.admin : keys.api;
  }
}

/**
 * @param {string} id
 * @param {Operation} operation
 * @param {Document} document
 * @returns {{ fields: HTMLElement[], value(): import("./request.js").Body }}
 */
function bodyFields(id, { requestBody }, document) {
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  if (type === undefined || content === undefined) return { fields: [], value: () => undefined };
  if (type !== "application/json") {
    const { field, input } = fileField(id);
    const kind = type === "multipart/form-data" ? "form" : "binary";
    return { fields: [field], value: () => ({ kind, file: input.files?.[0] }) };
  }
  const schema = resolved(content.schema ?? {}, document);
  const named = Object.entries(schema.properties ?? {});
  if (named.length === 0) return rawField(id, content);
  const fields = named.map(([name, each]) => ({
    name,
    schema: each,
    ...textField(`${id}-body-${name}`, name, each, schema.required?.includes(name)),
  }));
  return {
    fields: fields.map(({ field }) => field),
    value() {
      const given = fields.filter(({ value }) => value() !== "");
      const values = given.map((each) => [each.name, typed(each.value(), resolved(each.schema, document))]);
      return { kind: "json", text: JSON.stringify(Object.fromEntries(values)) };
    },
  };
}

/**
 * Where the document does not name the fields of the body.
 *
 * @param {string} id
 * @param {Content} content
 * @returns {ReturnType<typeof bodyFields>}
 */
function rawField(id, { example, schema }) {
  const area = element("textarea", { rows: 5, spellcheck: false, id: `${id}-json` });
  area.value = JSON.stringify(example ?? schema?.examples?.[0] ?? {}, null, 2);
  const field = element(
    "p",
    { className: "field" },
    element("label", { htmlFor: area.id, textContent: "Body (JSON)" }),
    area,
  );
  return { fields: [field], value: () => ({ kind: "json", text: area.value }) };
}

/**
 * @param {Schema} schema
 * @param {Document} document
 * @returns {Schema}
 */
function resolved(schema, { components }) {
  const name = schema.$ref?.replace("#/components/schemas/", "");
  return name === undefined ? schema : (components?.schemas?.[name] ?? {});
}

/**
 * What was typed, as the schema wants it. What cannot be that is sent as it is: the service says what is wrong.
 *
 * @param {string} text
 * @param {Schema} schema
 */
function typed(text, schema) {
  if (schema.type === "integer" || schema.type === "number") return text.trim() === "" ? text : Number(text);
  if (schema.type === "boolean") return text === "true";
  if (schema.type === "string" || schema.type === undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} id
 * @param {string} name
 * @param {Schema} schema
 * @param {boolean} [required]
 * @returns {Field}
 */
function textField(id, name, schema, required = false) {
  const hint = schema.type === "object" || schema.type === "array" ? "As JSON." : "";
  const { field, input } = labelled(id, name, hint, required);
  const [example] = schema.examples ?? schema.enum ?? [];
  if (example !== undefined) input.placeholder = typeof example === "string" ? example : JSON.stringify(example);
  return { field, value: () => input.value };
}

/** @param {string} id */
function fileField(id) {
  const { field, input } = labelled(`${id}-file`, "File", "", true);
  input.type = "file";
  const sample = element("button", { type: "button", textContent: "Use the EICAR test file" });
  sample.addEventListener("click", () => {
    const chosen = new DataTransfer();
    chosen.items.add(new File([eicar()], "eicar.txt"));
    input.files = chosen.files;
  });
  field.append(sample);
  return { field, input };
}

/** Harmless, and every engine finds it. In two halves, so that no scanner finds it in this script. */
function eicar() {
  return ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("");
}

/**
 * @param {string} id
 * @param {string} name
 * @param {string} hint
 * @param {boolean} required
 */
function labelled(id, name, hint, required) {
  const input = element("input", { type: "text", id, autocomplete: "off", spellcheck: false });
  input.required = required;
  const label = element("label", { htmlFor: id }, name);
  if (required) label.append(element("span", { className: "required", textContent: " required" }));
  const field = element("p", { className: "field" }, label, input);
  if (hint) {
    input.setAttribute("aria-describedby", `${id}-hint`);
    field.append(element("small", { id: `${id}-hint`, textContent: hint }));
  }
  return { field, input };
}
