"""What Python's own modules get out of files. Each line of the input is FILE<tab>FOLDER; the answer is a line when all is written.

Whatever comes out before a module complains is kept: programs that read in pieces have used it by then.
"""

import bz2
import email
import email.policy
import gzip
import io
import lzma
import os
import sys
import tarfile
import warnings
import zipfile
import zlib

LARGEST = 2**24
PIECE = 61
warnings.simplefilter("ignore")


def pieces(source):
    """Reads in small pieces until the end, a limit or an error."""
    size = 0
    while size < LARGEST:
        try:
            piece = source.read(PIECE if size < 4096 else 65536)
        except Exception:
            return
        if not piece:
            return
        size += len(piece)
        yield piece


def inflated(data):
    inflater = zlib.decompressobj()
    for at in range(0, len(data), PIECE):
        try:
            yield inflater.decompress(data[at : at + PIECE], LARGEST)
        except zlib.error:
            return


def each_of_zip(data):
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist()[:200]:
        try:
            with archive.open(info) as member:
                yield b"".join(pieces(member))
        except Exception:
            continue


def each_of_tar(data, mode):
    archive = tarfile.open(fileobj=io.BytesIO(data), mode=mode)
    for count, member in enumerate(archive):
        source = archive.extractfile(member) if count < 200 else None
        if source:
            yield b"".join(pieces(source))


def each_of_mail(data, policy):
    if len(data) > 2**20:
        return
    for part in email.message_from_bytes(data, policy=policy).walk():
        payload = part.get_payload(decode=True)
        if payload is not None:
            yield payload


readers = {
    "python zipfile": each_of_zip,
    "python tarfile": lambda data: each_of_tar(data, "r:*"),
    "python tarfile, a stream": lambda data: each_of_tar(data, "r|*"),
    "python gzip": lambda data: [b"".join(pieces(gzip.GzipFile(fileobj=io.BytesIO(data))))],
    "python bz2": lambda data: [b"".join(pieces(bz2.BZ2File(io.BytesIO(data))))],
    "python lzma": lambda data: [b"".join(pieces(lzma.LZMAFile(io.BytesIO(data))))],
    "python zlib": lambda data: [b"".join(inflated(data))],
    "python email": lambda data: each_of_mail(data, email.policy.compat32),
    "python email, the new way": lambda data: each_of_mail(data, email.policy.default),
}


def read_all(path, folder):
    with open(path, "rb") as source:
        data = source.read()
    for name, read in readers.items():
        try:
            for count, content in enumerate(read(data)):
                if content:
                    with open(os.path.join(folder, "%s~%d" % (name, count)), "wb") as target:
                        target.write(content)
        except Exception:
            continue


for line in sys.stdin:
    try:
        read_all(*line.rstrip("\n").split("\t"))
    except Exception as problem:
        print(problem, file=sys.stderr)
    print("done", flush=True)
