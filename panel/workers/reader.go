// What Go's own packages get out of files: as reader.py.
package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
)

const largest = 1 << 24

type put func(name string, source io.Reader)

func readAll(data []byte, put put) {
	reader := func() *bytes.Reader { return bytes.NewReader(data) }
	if archive, _ := zip.NewReader(reader(), int64(len(data))); archive != nil {
		for _, file := range archive.File {
			if content, err := file.Open(); err == nil {
				put("go archive-zip", content)
			}
		}
	}
	archive := tar.NewReader(reader())
	for {
		// An error with a header is about the name alone.
		if header, _ := archive.Next(); header == nil {
			break
		}
		put("go archive-tar", archive)
	}
	if content, err := gzip.NewReader(reader()); err == nil {
		put("go gzip", content)
	}
	if content, err := zlib.NewReader(reader()); err == nil {
		put("go zlib", content)
	}
	put("go bzip2", bzip2.NewReader(reader()))
	if message, err := mail.ReadMessage(reader()); err == nil && len(data) < 1<<20 {
		readPart(message.Header.Get, message.Body, put)
	}
}

func readPart(header func(string) string, body io.Reader, put put) {
	if kind, values, err := mime.ParseMediaType(header("Content-Type")); err == nil && strings.HasPrefix(kind, "multipart/") {
		parts := multipart.NewReader(body, values["boundary"])
		for {
			part, err := parts.NextRawPart()
			if err != nil {
				return
			}
			readPart(part.Header.Get, part, put)
		}
	}
	switch strings.ToLower(header("Content-Transfer-Encoding")) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	put("go mail", body)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\t")
		count := 0
		if data, err := os.ReadFile(parts[0]); err == nil {
			readAll(data, func(name string, source io.Reader) {
				// What comes before an error counts.
				content, _ := io.ReadAll(io.LimitReader(source, largest))
				if len(content) > 0 && count < 200 {
					os.WriteFile(filepath.Join(parts[1], fmt.Sprintf("%s~%d", name, count)), content, 0o600)
					count++
				}
			})
		}
		fmt.Println("done")
	}
}
