import type { Kind } from "./kinds.ts";
import type { Text } from "./text.ts";

/** Elements that say what kind of XML a document is, without namespace prefix unless that is the only sign. */
const ROOTS: Readonly<Record<string, Kind>> = {
  svg: "svg",
  html: "xhtml",
  "xhtml:html": "xhtml",
  rss: "rss",
  feed: "atom",
  kml: "kml",
  gpx: "gpx",
  plist: "plist",
  collada: "collada",
  fictionbook: "fb2",
  "key:presentation": "key",
  "sl:document": "pages",
  "ls:document": "numbers",
  abiword: "abw",
  awml: "abw",
  "gmr:workbook": "gnumeric",
  "gnm:workbook": "gnumeric",
  job: "wsf",
  "xsl:stylesheet": "xslt",
  "xsl:transform": "xslt",
  "w:worddocument": "word-xml",
  "pkg:package": "flat-opc",
  "office:document": "flat-odf",
};

const HTML_ELEMENTS =
  /^<(?:html|head|body|title|script|style|meta|link|base|div|span|table|form|iframe|frameset|object|embed|img|a|p|h[1-6]|center|font|br|b|i|ul|ol)(?=[\s/>])/i;

/** Documents made of tags: HTML and its server pages, XML and what is written in it. */
export function markupKind({ start, end }: Text): Kind | undefined {
  const trimmed = start.trimStart();
  if (!trimmed.startsWith("<")) return undefined;
  const page = serverPageKind(trimmed);
  if (page) return page;
  if (/^<\?xml[\s?]/i.test(trimmed)) return xmlKind(trimmed);

  const content = skipProlog(trimmed);
  if (/<hta:application[\s/>]/i.test(trimmed)) return "hta";
  if (/^<!doctype\s+html/i.test(trimmed) || /^<!doctype\s+html/i.test(content)) {
    return /<!doctype\s+html\s+public\s+"-\/\/w3c\/\/dtd xhtml/i.test(trimmed) ? "xhtml" : "html";
  }
  const root = rootElement(content);
  if (root && root !== "html" && Object.hasOwn(ROOTS, root)) return ROOTS[root];
  if (HTML_ELEMENTS.test(content)) return "html";
  if (/^<package(?=[\s>])/i.test(content) && /<job[\s>]/i.test(content)) return "wsf";
  // Without a declaration it is XML only if it looks like it on both ends.
  return root && />\s*$/.test(end) && /^<[\w.:-]+(\s+[\w.:-]+\s*=\s*["'][^<]|\s*\/?>)/.test(content)
    ? "xml"
    : undefined;
}

/** PHP, JSP and ASP pages, also where HTML comes first. */
function serverPageKind(start: string): Kind | undefined {
  if (/<\?(?:php|=)(?=[\s$"'(]|$)/i.test(start) || /^<\?\s+[$\w]/.test(start)) return "php";
  if (
    /<%@\s*(?:page|include|taglib)\b[^%]{0,200}\b(?:import|contentType|pageEncoding|errorPage|file|uri)\s*=/.test(start)
  )
    return "jsp";
  if (/<%@\s*page\b[^%]{0,200}\blanguage\s*=\s*["']java["']/i.test(start) || /<jsp:[a-z]/i.test(start)) return "jsp";
  if (/<%@\s*(?:page|webhandler|webservice|control|master|application|assembly|import)\b/i.test(start)) return "aspx";
  if (/<script\b[^>]{0,100}\blanguage\s*=\s*["']?(?:c#|vb)["']?[^>]{0,100}\brunat\s*=/i.test(start)) return "aspx";
  if (/<%@\s*language\s*=\s*["']?(?:vbscript|jscript|javascript)/i.test(start)) return "asp";
  if (/<%[^%]{0,400}\b(?:request|response|server|session)\s*[.(]/i.test(start)) {
    return /getParameter|java\.|Runtime\.|out\.print/.test(start) ? "jsp" : "asp";
  }
  return undefined;
}

function xmlKind(trimmed: string): Kind {
  if (/<\?mso-application\s+progid="Word\.Document"/.test(trimmed)) return word(trimmed);
  if (/<\?mso-application\s+progid="Excel\.Sheet"/.test(trimmed)) return "excel-xml";
  if (/<!doctype\s+html/i.test(trimmed)) return "xhtml";
  const root = rootElement(skipProlog(trimmed));
  return (root && Object.hasOwn(ROOTS, root) ? ROOTS[root] : undefined) ?? "xml";
}

function word(trimmed: string): Kind {
  return trimmed.includes("<pkg:package") ? "flat-opc" : "word-xml";
}

/** What follows declarations, comments and document types; these may fill all we look at. */
function skipProlog(trimmed: string): string {
  let at = 0;
  while (at < trimmed.length) {
    const end = prologEnd(trimmed, at);
    if (end === undefined) break;
    if (end < 0) return "";
    at = end;
    while (/\s/.test(trimmed.charAt(at))) at++;
  }
  return trimmed.slice(at);
}

/** Where the declaration, comment or document type that starts here ends: -1 if it does not, nothing if none does. */
function prologEnd(trimmed: string, at: number): number | undefined {
  if (trimmed.startsWith("<!--", at)) return endOf(trimmed, "-->", at + 4);
  if (trimmed.startsWith("<?", at)) return endOf(trimmed, "?>", at + 2);
  if (!trimmed.startsWith("<!", at)) return undefined;
  const close = endOf(trimmed, ">", at);
  const inner = trimmed.indexOf("[", at);
  return inner < 0 || inner > close ? close : endOf(trimmed, ">", trimmed.indexOf("]", inner));
}

function endOf(text: string, mark: string, from: number): number {
  const at = from < 0 ? -1 : text.indexOf(mark, from);
  return at < 0 ? -1 : at + mark.length;
}

function rootElement(content: string): string | undefined {
  const name = /^<([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)(?=[\s/>])/.exec(content)?.[1]?.toLowerCase();
  if (!name) return undefined;
  if (Object.hasOwn(ROOTS, name)) return name;
  return /^[\w-]*xhtml:/.test(name) ? "xhtml:html" : name.replace(/^(?:svg|html|atom|kml):/, "");
}
