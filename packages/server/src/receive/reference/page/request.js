/**
 * What is sent, from what was filled in.
 *
 * @typedef {{ name: string, in: "query" | "path", value: string }} Parameter
 * @typedef {{ kind: "json", text: string } | { kind: "binary" | "form", file: File | undefined } | undefined} Body
 * @typedef {{ method: string, url: string, key: string, body: Body }} Call
 *
 * @typedef {object} Filled
 * @property {string} method
 * @property {string} base
 * @property {string} path
 * @property {string} key
 * @property {Parameter[]} parameters
 * @property {Body} body
 */

/**
 * @param {Filled} filled
 * @returns {Call}
 */
export function callOf({ method, base, path, key, parameters, body }) {
  const given = parameters.filter(({ value }) => value !== "");
  let place = path;
  for (const { name, value } of given.filter((each) => each.in === "path"))
    place = place.replace(`{${name}}`, encodeURIComponent(value));
  const query = new URLSearchParams(
    given.filter((each) => each.in === "query").map(({ name, value }) => [name, value]),
  );
  const url = `${base}${place}${query.size > 0 ? `?${query}` : ""}`;
  return { method: method.toUpperCase(), url, key, body };
}

/**
 * No cookie goes along, so that nothing is done in the name of who is logged in to the console.
 *
 * @param {Call} call
 * @param {AbortSignal} signal
 */
export function send({ method, url, key, body }, signal) {
  const headers = new Headers(key === "" ? {} : { Authorization: `Bearer ${key}` });
  if (body?.kind === "json") headers.set("Content-Type", "application/json");
  if (body?.kind === "binary") headers.set("Content-Type", "application/octet-stream");
  /** @type {RequestInit} */
  const init = { method, headers, credentials: "omit", cache: "no-store", redirect: "manual", signal };
  if (body?.kind === "json") init.body = body.text;
  if (body?.kind === "binary") init.body = body.file ?? new Blob();
  if (body?.kind === "form") init.body = formOf(body.file);
  return fetch(url, init);
}

/** @param {File | undefined} file */
function formOf(file) {
  const form = new FormData();
  if (file) form.set("file", file, file.name);
  return form;
}

/**
 * The same call for a terminal. The key is not in it: it is to be in a variable.
 *
 * @param {Call} call
 * @param {string} variable
 */
export function curlOf({ method, url, key, body }, variable) {
  const parts = ["curl"];
  if (key !== "") parts.push(`-H "Authorization: Bearer $${variable}"`);
  if (body?.kind === "json") parts.push("-H 'Content-Type: application/json'", `--data-raw ${quoted(body.text)}`);
  else if (body?.kind === "binary" && body.file)
    parts.push("-H 'Content-Type: application/octet-stream'", `--data-binary ${quoted(`@${pathOf(body.file)}`)}`);
  else if (body?.kind === "form" && body.file) parts.push(`-F ${quoted(`file=@"${formName(body.file)}"`)}`);
  else if (method !== "GET") parts.push(`-X ${method}`);
  return [...parts, quoted(url)].join(" ");
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A name such as "-" would be something else to curl.
 *
 * @param {File} file
 */
function pathOf({ name }) {
  return /^\w/.test(name) ? name : `./${name}`;
}

/** @param {File} file */
function formName(file) {
  return pathOf(file).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}
