import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { mail } from "./mail.ts";

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const wrapped = (text: string, width: number, glue: string): string =>
  text.replaceAll(new RegExp(`.{${width}}`, "g"), `$&${glue}`);
const base64 = (content: Buffer): string => wrapped(content.toString("base64"), 76, "\r\n");
const quoted = (content: Buffer): string =>
  [...content].map((byte) => `=${byte.toString(16).padStart(2, "0")}`).join("");

const attachment = randomBytes(3001);
const TOP = "From: a@example.com\r\nTo: b@example.com\r\nMIME-Version: 1.0\r\n";
const MIXED = "Content-Type: multipart/mixed; boundary=frontier\r\n";
const TEXT = "--frontier\r\nContent-Type: text/plain\r\n\r\nhello\r\n";
const CLOSE = "\r\n--frontier--\r\n";
const part = (field: string, body: string): string => `--frontier\r\n${field}\r\n\r\n${body}`;
const ENCODED = part("Content-Transfer-Encoding: base64", base64(attachment));
const usual = `${TOP}${MIXED}\r\n${TEXT}${ENCODED}${CLOSE}`;

async function membersOf(file: string): Promise<Buffer[]> {
  const opened = await openContainer(mail, latin1(file));
  assert.equal(opened?.outcome, "opened");
  assert.deepEqual(opened?.rest, []);
  return opened?.members.map(({ content }) => content) ?? [];
}

async function assertHolds(file: string, content: Buffer = attachment): Promise<void> {
  const members = await membersOf(file);
  assert.ok(
    members.some((member) => member.equals(content)),
    `not among ${members.length}: ${file.slice(0, 300)}`,
  );
}

describe("a list of mails' fields", () => {
  const blocks = Array.from({ length: 60 }, (_, index) => `Message-ID: <${index}@example.com>\r\n\r\n`).join("");

  test("is no mail in a mail for each of them", async () => {
    assert.deepEqual(await membersOf(`${blocks}That is all.`), [Buffer.from("That is all.")]);
    const indented = Array.from(
      { length: 60 },
      (_, depth) => `${" ".repeat(depth)}Content-Type: multipart/mixed; boundary=b\n\n`,
    );
    assert.deepEqual(await membersOf(`${indented.join("")}That is all.`), [Buffer.from("That is all.")]);
  });

  test("hides nothing: behind them an attachment comes out as behind one", async () => {
    await assertHolds(`${blocks}Content-Transfer-Encoding: quoted-printable\r\n\r\n${quoted(attachment)}`);
    await assertHolds(`${blocks}${usual}`);
    const mails = "Content-Type: message/rfc822\r\n\r\n".repeat(60);
    await assertHolds(`${mails}${usual}`);
  });
});

describe("quoted-printable by the book", () => {
  test("has one reading, whatever its line ends are, and what is not has several", async () => {
    const field = "Content-Transfer-Encoding: quoted-printable\r\n\r\n";
    const tidy = `${TOP}${field}a =3D b=\r\n c\r\n`;
    for (const file of [tidy, tidy.replaceAll("\r\n", "\n")]) assert.equal((await membersOf(file)).length, 1, file);
    await assertHolds(`${TOP}${field}a  \r\nb\t\r\n`, Buffer.from("a\r\nb\r\n"));
    await assertHolds(`${TOP}${field}=4\n1=\x001=G=42`, Buffer.from("AGB"));
    await assertHolds(`${TOP}${field}==41=\rjunk\nb`, Buffer.from("=41b"));
  });
});

describe("the attachment of a mail", () => {
  test("comes out once, with the text as the other part", async () => {
    assert.deepEqual(await membersOf(usual), [Buffer.from("hello"), attachment]);
  });

  const encodings: Readonly<Record<string, string>> = {
    "in comments": "Content-Transfer-Encoding: (x (y)) base64 (z)",
    folded: "Content-Transfer-Encoding:\r\n base64",
    "with blanks before the colon": "Content-Transfer-Encoding  : base64",
    "in odd letters and quotes": 'CONTENT-transfer-ENCODING:"BASE64"',
    "said twice": "Content-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: base64",
    "that nobody knows": "Content-Transfer-Encoding: base65",
    "behind a field of a megabyte": `X-Long: ${"y".repeat(1_000_000)}\r\nContent-Transfer-Encoding: base64`,
    "behind a line that is no field": "what is this\r\nContent-Transfer-Encoding: base64",
  };
  for (const [name, field] of Object.entries(encodings)) {
    test(`comes out with an encoding ${name}`, () =>
      assertHolds(`${TOP}${MIXED}\r\n${part(field, base64(attachment))}${CLOSE}`));
  }

  const boundaries: Readonly<Record<string, string>> = {
    "in quotes, folded": 'Content-Type: multipart/mixed;\r\n\tboundary="frontier"',
    "in pieces": "Content-Type: multipart/mixed; boundary*0=fron; boundary*1=tier",
    "with a character set": "Content-Type: multipart/mixed; boundary*=utf-8''front%69er",
    "behind a comment": "Content-Type: multipart/mixed (and so on); charset=x; boundary=frontier; a=b",
    "that was never said": "Subject: parts",
    "that is another": "Content-Type: multipart/mixed; boundary=other",
  };
  for (const [name, field] of Object.entries(boundaries)) {
    test(`comes out with a boundary ${name}`, () => assertHolds(`${TOP}${field}\r\n\r\n${TEXT}${ENCODED}${CLOSE}`));
  }

  const beginnings: Readonly<Record<string, string>> = {
    "empty lines": "\r\n\r\n",
    "the line of a folder": "From a@example.com Mon Jan  1 00:00:00 2024\r\n",
    junk: "\x01\x02 junk\r\nHTTP/1.1 200 OK\r\n",
    "a field of a megabyte": `X-A: ${"b".repeat(1_000_000)}\r\n`,
    "a megabyte of fields": `${"X-A: b\r\n".repeat(130_000)}`,
  };
  for (const [name, before] of Object.entries(beginnings)) {
    test(`comes out of a mail that begins with ${name}`, () => assertHolds(before + usual));
  }

  const bodies: Readonly<Record<string, string>> = {
    "signs that do not belong": base64(attachment).replaceAll("\r\n", "!\r\n * "),
    "a list's footer behind": `${base64(attachment)}\r\n______________\r\nthe list\r\n`,
    "a second file behind its pads": `${base64(attachment)}\r\n${base64(Buffer.from("more data"))}`,
    "a line like a boundary in it": `--nobound\r\n${base64(attachment)}`,
    "the alphabet of addresses": attachment.toString("base64url"),
    "no empty line before it": "",
  };
  for (const [name, body] of Object.entries(bodies)) {
    const file =
      body === "" ? ENCODED.replace("base64\r\n\r\n", "base64\r\n") : part("Content-Transfer-Encoding: base64", body);
    test(`comes out of base64 with ${name}`, () => assertHolds(`${TOP}${MIXED}\r\n${file}${CLOSE}`));
  }

  test("comes out of base64 in which pads stand in the middle, for those who go on and for those who stop", async () => {
    const body = `${Buffer.from("one").toString("base64")}${Buffer.from("t").toString("base64")}${base64(attachment)}`;
    const file = `${TOP}${MIXED}\r\n${part("Content-Transfer-Encoding: base64", body)}${CLOSE}`;
    await assertHolds(file, Buffer.concat([Buffer.from("onet"), attachment]));
    await assertHolds(file, Buffer.from("onet"));
  });

  test("comes out as it stands, without the line break before the boundary", async () => {
    for (const encoding of ["binary", "8bit", "7bit", "(x) 8BIT"])
      await assertHolds(
        `${TOP}${MIXED}\r\n${part(`Content-Transfer-Encoding: ${encoding}`, attachment.toString("latin1"))}${CLOSE}`,
      );
  });

  test("comes out of quoted-printable with small digits, soft line ends and a signature line", async () => {
    const body = wrapped(quoted(attachment), 75, "=\r\n");
    const file = `${TOP}${MIXED}\r\n${part("Content-Transfer-Encoding: quoted-printable", `${body}\r\n-- \r\nme`)}${CLOSE}`;
    await assertHolds(file, Buffer.concat([attachment, Buffer.from("\r\n-- \r\nme")]));
  });

  test("comes out with line ends of any kind", async () => {
    for (const end of ["\n", "\r"]) await assertHolds(usual.replaceAll("\r\n", end));
  });

  test("comes out without a closing boundary, with blanks behind the boundary, and without fields", async () => {
    await assertHolds(`${TOP}${MIXED}\r\n${ENCODED}`);
    await assertHolds(usual.replaceAll("--frontier\r\n", "--frontier \t\r\n"));
    await assertHolds(`${TOP}${MIXED}\r\n--frontier\r\n\r\n${attachment.toString("latin1")}${CLOSE}`);
  });

  test("comes out of parts in parts, and of the body of a mail in a mail", async () => {
    const inner = usual.replaceAll("frontier", "inner");
    await assertHolds(`${TOP}${MIXED}\r\n--frontier\r\n${inner}${CLOSE}`);
    const forwarded = `Subject: x\r\nX-A: b\r\n\r\n${attachment.toString("latin1")}`;
    await assertHolds(`${TOP}${MIXED}\r\n${part("Content-Type: message/rfc822", forwarded)}${CLOSE}`);
    await assertHolds(
      `${TOP}${MIXED}\r\n${part("Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64", base64(latin1(usual)))}${CLOSE}`,
      latin1(usual),
    );
  });

  test("is not cut by a boundary that another part's text declares", async () => {
    const junk = `--trap\r\nContent-Type: multipart/mixed; boundary=trap2\r\n\r\n--trap2\r\n`;
    const lines = base64(attachment).split("\r\n");
    lines.splice(5, 0, junk.trimEnd());
    await assertHolds(`${TOP}${MIXED}\r\n${part("Content-Transfer-Encoding: base64", lines.join("\r\n"))}${CLOSE}`);
  });

  test("comes out of form data, whose fields begin with the boundary", async () => {
    const form = `--abc\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n${attachment.toString("latin1")}\r\n--abc\r\nContent-Disposition: form-data; name="g"\r\n\r\n1\r\n--abc--\r\n`;
    await assertHolds(form);
  });
});

describe("a folder of mails", () => {
  test("gives each of them", async () => {
    const first = "From: a@example.com\nSubject: one\n\nfirst\n\n";
    const second = "From: b@example.com\nSubject: two\n\nsecond\n";
    const members = await membersOf(`From a Mon\n${first}From b Tue\n${second}`);
    for (const message of [first, second]) assert.ok(members.some((member) => member.equals(latin1(message))));
  });
});

describe("the way of a part", () => {
  const wayOf = async (file: string): Promise<string | undefined> =>
    (await openContainer(mail, latin1(file)))?.members.find(({ content }) => content.equals(attachment))?.way;

  test("is said if all of it is by the book", async () => {
    assert.equal(await wayOf(usual), "mail/base64");
    assert.equal(await wayOf(usual.replaceAll("\r\n", "\n")), "mail/base64");
  });

  test("is not said in case of doubt", async () => {
    const doubtful = {
      "empty line first": `\r\n${usual}`,
      comment: usual.replace(": base64", ": (x) base64"),
      folded: usual.replace(": base64", ":\r\n base64"),
      "long fields": usual.replace("MIME", `X-A: ${"b".repeat(9000)}\r\nMIME`),
      junk: usual.replace(base64(attachment), base64(attachment).replace("\r\n", "!\r\n")),
      "pads on a line of their own": usual.replace(base64(attachment), base64(attachment).replace("==", "\r\n==")),
      "no boundary": usual.replace("boundary=frontier", "boundary=other"),
      "not closed": `${TOP}${MIXED}\r\n${ENCODED}`,
      "not a field": usual.replace("MIME", "what is this\r\nMIME"),
      "a beginning that no mail has": usual.replace(TOP, ""),
      "carriage returns alone": usual.replaceAll("\r\n", "\r"),
      "carriage returns alone in the body": usual.replace(base64(attachment), base64(attachment).replaceAll("\n", "")),
      "a type that is none": usual.replace("multipart/mixed;", "multipart/mixed{"),
      "a type behind a parenthesis": usual.replace("Content-Type: multipart", "Content-Type:(multipart"),
      "a quote that is not closed": usual.replace("MIME", 'Content-Disposition: inline; filename="a\r\nMIME'),
      "a disposition that is none": usual.replace(": base64", ": base64\r\nContent-Disposition: attachmant"),
      "parts that are encoded as a whole": usual.replace("MIME", "Content-Transfer-Encoding: 7bit\r\nMIME"),
      "something uuencoded": usual.replace("hello", "hello\r\nbegin 644 x"),
      "bits too many": usual.replace(/.(?==+\r\n--)/, (letter) => String.fromCharCode(letter.charCodeAt(0) + 1)),
      "fields before the first part": usual.replace(MIXED, `${MIXED}\r\nContent-Type: text/plain`),
      "a type with parts that is none": usual.replace("multipart/mixed; ", "m/mixed; type=multipart; "),
      "the look of a disk": `Subject: ${"x".repeat(503)}EFI PART\r\n${usual}`,
      "two types": usual.replace("MIME", "Content-Type: multipart/mixed; boundary=other\r\nMIME"),
      "a piece of a mail": usual.replace("text/plain", "message/partial; id=a; number=1; total=2"),
      "a part before it that is odd": usual.replace("text/plain", "text/plain{ boundary=x"),
    };
    for (const [name, file] of Object.entries(doubtful)) {
      assert.equal(await wayOf(file), undefined, name);
      await assertHolds(file);
    }
  });
});

describe("a mail", () => {
  test("is told from other texts", () => {
    const others = [
      "Name: value\nOther: value\n\n",
      "Package: a\nVersion: 1\nArchitecture: all\n\n",
      "<html><body>Content-Transfer-Encoding: base64</body></html>",
      "# Heading\n\nMessage-ID: what is it?\n",
      "",
    ];
    for (const text of others) assert.deepEqual(mail.find(memoryBlob(latin1(text))), [], text);
    assert.equal(mail.find(memoryBlob(latin1(usual)))[0]?.sure, true);
  });

  test("whatever is repeated in it is passed over a bounded number of times", async () => {
    const words = [
      "--a\n",
      "--a\nB: c\n",
      "--a\nB: c\n\n",
      "From a\nB: c\n",
      `${MIXED}\n--frontier\n`,
      "QUJD=\n",
      "\n",
      " \n",
      "\r",
      "-",
    ];
    const more = [
      "=41",
      "(",
      '"',
      "Content-Transfer-Encoding: base64\n\n",
      "--frontier\nContent-Type: message/rfc822\n\n",
      "begin 644 x\n",
    ];
    const all = [...words, ...more];
    const mixtures = all.map((word, index) => [
      word,
      all[(index * 5 + 2) % all.length],
      all[(index * 7 + 3) % all.length],
    ]);
    for (const head of [`${TOP}${MIXED}\n--frontier\n`, TOP, `${TOP}Content-Transfer-Encoding: base64\n\n`]) {
      for (const mixture of [...all.map((word) => [word]), ...mixtures]) {
        const text = latin1(head + mixture.join("").repeat(Math.ceil(300_000 / mixture.join("").length)));
        const opened = await openContainer(mail, text, { members: 1_000_000 });
        const bytes = opened?.members.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
        assert.ok((opened?.work ?? 0) <= 24 * text.length, `${mixture}: work ${opened?.work}`);
        assert.ok(bytes <= 8 * text.length, `${mixture}: ${bytes} bytes`);
      }
    }
  });
});
