import { deflateSync } from "node:zlib";
import { type Container, containers, glue, latin1 } from "./container.ts";
import { type Encryptor, encryptor, type Handler, handlers, hexString, literalString } from "./pdf-encryption.ts";

/** PDF that is encrypted, with a content in each of the places where there can be one. */

export const places = ["stream", "attachment", "script", "script in an object stream"] as const;
type Place = (typeof places)[number];

export interface EncryptedShape {
  handler: Handler;
  place: Place;
  user?: string;
  owner?: string;
  /** How the content's stream says it is packed, and how it is. */
  dictionary?: string;
  pack?(content: Buffer): Buffer;
  /** The stream is not encrypted. */
  plain?: boolean;
  /** The number of the object with the stream, and what it is encrypted by if that is another one. */
  written?: string;
  id?: readonly [number: number, generation: number];
  literal?: boolean;
  /** The encryption dictionary in the trailer itself. */
  direct?: boolean;
  /** The name of the entry. */
  key?: string;
  table?: "table" | "stream" | "none";
  /** What the table says about the object 6, if that is another generation. */
  tableGeneration?: number;
  /** Behind everything. */
  after?: string;
}

/** A document of one page: 6 is a stream, 7 a script, 8 the objects in a stream, 9 the encryption, 10 the table. */
export function encryptedPdf(content: Buffer, shape: EncryptedShape): Buffer {
  const { handler, place } = shape;
  const locks = encryptor(handler, { user: shape.user ?? "", owner: shape.owner ?? "the owner" });
  const inStream = place === "script in an object stream";
  const [number, generation] = shape.id ?? [6, 0];
  const text = (value: Buffer, of: number): string =>
    (shape.literal ? literalString : hexString)(locks.encrypt(value, of));
  const stream = (
    head: string,
    data: Buffer,
    { entries = "", encrypted = true, of = [0, 0] as readonly number[] },
  ): Buffer => {
    const [own = 0, ownGeneration = 0] = of;
    const written = encrypted ? locks.encrypt(data, own, ownGeneration) : data;
    return glue(`${head}\n<< ${entries} /Length ${written.length} >>\nstream\n`, written, "\nendstream\nendobj\n");
  };
  const isPayload = place === "stream" || place === "attachment";
  const pack = shape.pack ?? deflateSync;
  const type = place === "attachment" ? "/Type /EmbeddedFile" : "";
  const script = (value: string): string => `<< /S /JavaScript /JS ${value} >>`;
  const kept = inStream ? script((shape.literal ? literalString : hexString)(content)) : "<< /A 1 >>";
  const objects: Buffer[] = [
    latin1(
      `1 0 obj\n<< /Type /Catalog /Pages 2 0 R /OpenAction 7 0 R /Names << /EmbeddedFiles << /Names [${text(latin1("sample.bin"), 1)} 5 0 R] >> >> >>\nendobj\n`,
    ),
    latin1("2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"),
    latin1("3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 6 0 R >>\nendobj\n"),
    latin1(`5 0 obj\n<< /Type /Filespec /F ${text(latin1("sample.bin"), 5)} /EF << /F 6 0 R >> >>\nendobj\n`),
    stream(shape.written ?? `${number} ${generation} obj`, pack(isPayload ? content : latin1("q Q")), {
      entries: `${type} ${shape.dictionary ?? "/Filter /FlateDecode"}`,
      encrypted: !shape.plain && !handler.plainStreams,
      of: [number, generation],
    }),
    ...(inStream ? [] : [latin1(`7 0 obj\n${script(text(place === "script" ? content : latin1("1"), 7))}\nendobj\n`)]),
    stream("8 0 obj", deflateSync(latin1(`${inStream ? 7 : 11} 0 ${kept}`)), {
      entries: `/Type /ObjStm /N 1 /First ${inStream ? 4 : 5} /Filter /FlateDecode`,
      encrypted: !handler.plainStreams,
      of: [8, 0],
    }),
    ...(shape.direct ? [] : [latin1(`9 0 obj\n${locks.dictionary}\nendobj\n`)]),
  ];
  const body = glue("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", ...objects);
  return glue(body, tail(body, shape, locks), shape.after ?? "");
}

function tail(body: Buffer, shape: EncryptedShape, { dictionary, identifier }: Encryptor): Buffer {
  const text = body.toString("latin1");
  const inStream = shape.place === "script in an object stream";
  const key = shape.key ?? "Encrypt";
  const encryption = `/${key} ${shape.direct ? dictionary : "9 0 R"}`;
  const entries = `/Root 1 0 R /Size 12 /ID [${hexString(identifier)} ${hexString(identifier)}] ${encryption}`;
  const kind = shape.table ?? (inStream ? "stream" : "table");
  if (kind === "none") return latin1(`trailer\n<< ${entries} >>\n`);
  const generationOf = (number = "", written = ""): number =>
    number === "6" ? (shape.tableGeneration ?? Number(written)) : Number(written);
  const found = [...text.matchAll(/(?:^|\n)(\d+) (\d+) obj/g)].map(
    (match) => [Number(match[1]), match.index + 1, generationOf(match[1], match[2])] as const,
  );
  const start = `startxref\n${body.length}\n%%EOF\n`;
  if (kind === "table") {
    const rows = found.map(
      ([number, at, generation]) =>
        `${number} 1\n${String(at).padStart(10, "0")} ${String(generation).padStart(5, "0")} n \n`,
    );
    return latin1(`xref\n0 1\n0000000000 65535 f \n${rows.join("")}trailer\n<< ${entries} >>\n${start}`);
  }
  const table = Buffer.alloc(12 * 7);
  for (const [number, at, generation] of [...found, [10, body.length, 0] as const]) {
    table[number * 7] = 1;
    table.writeUInt32BE(at, number * 7 + 1);
    table.writeUInt16BE(generation, number * 7 + 5);
  }
  if (inStream) table.set([2, 0, 0, 0, 8, 0, 0], 7 * 7);
  const head = `10 0 obj\n<< /Type /XRef /W [1 4 2] ${entries} /Length ${table.length} >>\nstream\n`;
  return glue(head, table, `\nendstream\nendobj\n${start}`);
}

const readersOf: Readonly<Record<Place, readonly string[]>> = {
  stream: ["qpdf", "mutool"],
  attachment: ["pdfdetach", "qpdf", "mutool"],
  script: ["python-pdf-string"],
  "script in an object stream": ["python-pdf-string"],
};

const opened = Object.entries(handlers).flatMap(([name, handler]) =>
  places.map((place) => [`${name}: ${place}`, { handler, place }] as const),
);
const PDF = { extension: ".pdf", maxBytes: 100_000 };

const open = containers(
  "PDF: encrypted, without a password",
  { ...PDF, ordinary: true },
  Object.fromEntries(
    opened.map(([name, shape]) => [
      name,
      { readers: readersOf[shape.place], wrap: (content) => encryptedPdf(content, shape) },
    ]),
  ),
);

const ownerless = containers(
  "PDF: encrypted, without an owner's password",
  PDF,
  Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      // Readers that take the empty password for the owner's too.
      {
        readers: ["qpdf", "mutool", "pdfdetach"],
        wrap: (content) => encryptedPdf(content, { handler, place: "attachment", user: "the user", owner: "" }),
      },
    ]),
  ),
);

const locked = containers(
  "PDF: encrypted, with a password",
  { ...PDF, locked: true },
  Object.fromEntries(
    opened.map(([name, shape]) => [name, { wrap: (content) => encryptedPdf(content, { ...shape, user: "the user" }) }]),
  ),
);

export const encryptedPdfs: readonly Container[] = [...open, ...ownerless, ...locked];
