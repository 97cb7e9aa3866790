"""What Python's own modules get out of a file: python3 readers.py MODE FILE FOLDER. Whatever comes out goes to FOLDER."""

import base64
import binascii
import bz2
import email
import gzip
import html
import io
import lzma
import mailbox
import os
import re
import struct
import subprocess
import sys
import tarfile
import urllib.parse
import zipfile
import zlib

mode, path, folder = sys.argv[1:4]
data = open(path, "rb").read()
count = 0


def put(content):
    global count
    if content is None:
        return
    with open(os.path.join(folder, "python-%d" % count), "wb") as target:
        target.write(content)
    count += 1


def text():
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if data[1:40:2].count(0) > 15:
        return data.decode("utf-16-le", "replace")
    return data.decode("latin-1")


def read_zip(content):
    archive = zipfile.ZipFile(io.BytesIO(content))
    for info in archive.infolist():
        try:
            put(archive.read(info))
        except Exception as problem:
            print(problem, file=sys.stderr)


def read_tar():
    archive = tarfile.open(path, ignore_zeros=False)
    for member in archive:
        source = archive.extractfile(member)
        if source:
            put(source.read())


def read_mail(content, deep=False, each=put):
    for part in email.message_from_bytes(content).walk():
        payload = part.get_payload(decode=True)
        if payload is None and part.get_content_type() == "message/rfc822":
            inner = part.get_payload()
            payload = base64.b64decode(inner[0].as_bytes()) if deep else None
        if payload is not None:
            each(payload)
            if deep:
                read_mail(payload, False, each)


def read_uu(source):
    out, inside = b"", False
    for line in source.splitlines():
        if not inside:
            inside = line.startswith(b"begin ")
            continue
        if line == b"end":
            put(out)
            out, inside = b"", False
            continue
        if not line.strip():
            continue
        try:
            out += binascii.a2b_uu(line)
        except binascii.Error:
            length = (((line[0] - 32) & 63) * 4 + 5) // 3
            out += binascii.a2b_uu(line[:length])
    if inside:
        put(out)


def read_yenc():
    body = data[data.index(b"=ybegin"):]
    out, escaped = bytearray(), False
    for line in body.split(b"\r\n")[1:]:
        if line.startswith(b"=yend"):
            break
        for byte in line:
            if escaped:
                out.append((byte - 64 - 42) & 255)
                escaped = False
            elif byte == 61:
                escaped = True
            else:
                out.append((byte - 42) & 255)
    put(bytes(out))


def read_base64():
    """As a script would that knows where its own text begins: quotes, signs and line ends between are left out."""
    source = html.unescape(urllib.parse.unquote(text()))
    source = re.sub(r"\\r\\n|\\/", lambda found: "/" if found.group() == "\\/" else "", source)
    source = re.sub(r">>a\.b64\r\necho |\"\na \+= \"|['\"] *[+,&]? *_?\s*b?['\"]|\\\r?\n", "", source)
    source = re.sub(r"(?<=[A-Za-z0-9+/])\s+(?:> )?(?=[A-Za-z0-9+/=])", "", source)
    for run in re.findall(r"[A-Za-z0-9+/_-]{100,}={0,2}", source):
        run = run.rstrip("=").replace("-", "+").replace("_", "/")
        for start in range(min(len(run), 200)):
            piece = run[start:]
            if len(piece) % 4 != 1:
                put(base64.b64decode(piece + "=" * (-len(piece) % 4)))
    if "%" in text():
        for run in re.findall(r"(?:%[0-9a-f]{2}){50,}", text()):
            put(urllib.parse.unquote_to_bytes(run))


def read_hex():
    source = re.sub(r"0x|\\x|[\s,\\]", "", text())
    for run in re.findall(r"[0-9a-fA-F]{100,}", source):
        for start in range(20):
            piece = run[start:]
            put(bytes.fromhex(piece[: len(piece) // 2 * 2]))


def read_ihex():
    put(b"".join(bytes.fromhex(line[9:-2]) for line in text().split() if line[7:9] == "00"))


def native(source):
    """The file in a stream of the kind Ole10Native, without its first size."""
    at = 2
    for _ in range(2):
        at = source.index(b"\0", at) + 1
    at += 4
    at += 4 + struct.unpack_from("<I", source, at)[0]
    size = struct.unpack_from("<I", source, at)[0]
    put(source[at + 4: at + 4 + size])


def streams(source):
    sector = lambda number: source[512 + number * 512: 1024 + number * 512]
    numbers = [n for n in struct.unpack_from("<109I", source, 76) if n < 0xFFFFFFF0]
    table = b"".join(sector(n) for n in numbers)

    def chain(start, fat, piece):
        out = b""
        while start < 0xFFFFFFF0:
            out += piece(start)
            start = struct.unpack_from("<I", fat, start * 4)[0]
        return out

    directory = chain(struct.unpack_from("<I", source, 48)[0], table, sector)
    small_table = chain(struct.unpack_from("<I", source, 60)[0], table, sector)
    small = b""
    for at in range(0, len(directory), 128):
        kind = directory[at + 66]
        start, size = struct.unpack_from("<II", directory, at + 116)
        if kind == 5:
            small = chain(start, table, sector)
        if kind == 2 and size < 4096:
            yield chain(start, small_table, lambda n: small[n * 64: n * 64 + 64])[:size]
        elif kind == 2:
            yield chain(start, table, sector)[:size]


def read_ole(source):
    for stream in streams(source):
        put(stream)
        try:
            native(stream[4:])
        except Exception as problem:
            print(problem, file=sys.stderr)


def read_rtf():
    body = data[data.index(b"objdata") + 8:]
    found = re.match(rb"\\bin(\d+) ", body)
    if found:
        raw = body[found.end(): found.end() + int(found.group(1))]
    else:
        body = re.sub(rb"\{\\\*\\x 1\}|\\par", b"", body)
        digits = re.sub(rb"\s", b"", re.match(rb"[0-9a-fA-F\s]*", body).group())
        raw = bytes.fromhex(digits.decode())
    if raw[:4] == b"\xd0\xcf\x11\xe0":
        raw = next(streams(raw))[4:]
    size = struct.unpack_from("<I", raw, 8)[0]
    inner = raw[24 + size:]
    if inner[:4] == b"\xd0\xcf\x11\xe0":
        read_ole(inner)
    else:
        native(inner)


def read_der(content):
    """All strings of octets, one after the other."""
    out = b""

    def walk(at, end):
        nonlocal out
        while at < end and content[at: at + 2] != b"\0\0":
            tag, length = content[at], content[at + 1]
            at += 2
            if length == 0x80:
                at = walk(at, end) + 2
                continue
            if length > 0x80:
                length, at = int.from_bytes(content[at: at + length - 0x80], "big"), at + length - 0x80
            if tag & 0x20:
                walk(at, at + length)
            elif tag == 4:
                out += content[at: at + length]
            at += length
        return at

    walk(0, len(content))
    put(out)


def read_onenote():
    mark = bytes.fromhex("e716e3bd65261145a4c48d4d0b7a9eac")
    at = data.index(mark) + 16
    size = struct.unpack_from("<Q", data, at)[0]
    put(data[at + 20: at + 20 + size])


def read_numbers():
    put(bytes(int(number) for number in re.findall(r"\d+", re.sub(r"[0-9]*Uint8|utf8", "", text()))))


def read_a85():
    source = data[data.index(b"<~"): data.index(b"~>") + 2]
    put(base64.a85decode(source, adobe=True))


def read_tnef(content):
    at = 6
    while at + 9 < len(content):
        level, identity, size = struct.unpack_from("<BII", content, at)
        if identity == 0x0006800F:
            put(content[at + 9: at + 9 + size])
        at += 11 + size


def read_zip_of_ole():
    archive = zipfile.ZipFile(path)
    for name in archive.namelist():
        if name.endswith(".bin"):
            read_ole(archive.read(name))


def read_pdf_string():
    shown = subprocess.run(["qpdf", "--show-object=7", path], stdout=subprocess.PIPE, check=False).stdout
    written = shown[shown.index(b"/JS ") + 4:]
    if written[:1] == b"<":
        put(bytes.fromhex(written[1: written.index(b">")].decode()))
        return
    escapes = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
    literal = re.match(rb"\(((?:[^\\()]|\\.)*)\)", written, re.DOTALL).group(1)
    put(re.sub(rb"\\([0-7]{3}|.)", lambda found: bytes([int(found[1], 8)]) if len(found[1]) == 3
               else escapes.get(found[1], found[1]), literal, flags=re.DOTALL))


modes = {
    "zip": lambda: read_zip(data),
    "gzip": lambda: put(gzip.decompress(data)),
    "bz2": lambda: put(bz2.decompress(data)),
    "lzma": lambda: put(lzma.decompress(data)),
    "zlib": lambda: put(zlib.decompressobj().decompress(data)),
    "tar": read_tar,
    "mail": lambda: read_mail(data),
    "mail-zip": lambda: read_mail(data, False, lambda part: part[:2] == b"PK" and read_zip(part)),
    "mail-twice": lambda: read_mail(data, True),
    "mail-trimmed": lambda: read_mail(data.removeprefix(b"\xef\xbb\xbf").lstrip()),
    "mail-tnef": lambda: read_mail(data, False, lambda part: read_tnef(part)),
    "mbox": lambda: [read_mail(message.as_bytes()) for message in mailbox.mbox(path)],
    "uu": lambda: read_uu(data.replace(b"\r", b"")),
    "yenc": read_yenc,
    "base64": read_base64,
    "hex": read_hex,
    "ihex": read_ihex,
    "tnef": lambda: read_tnef(data),
    "ole": lambda: read_ole(data),
    "ole-in-zip": read_zip_of_ole,
    "rtf": read_rtf,
    "der": lambda: read_der(data),
    "mail-der": lambda: read_mail(data, False, read_der),
    "pem-der": lambda: read_der(base64.b64decode(b"".join(data.split(b"\n")[1:-2]))),
    "onenote": read_onenote,
    "mso": lambda: [put(stream) for stream in streams(zlib.decompress(data[50:]))],
    "numbers": read_numbers,
    "a85": read_a85,
    "pdf-string": read_pdf_string,
    "qp": lambda: put(binascii.a2b_qp(data)),
}
modes[mode]()
