import type { Frame } from "./upload-body.ts";

export interface Form {
  contentType: string;
  frame: Frame;
}

/** A multipart form with one file, which goes between the two halves of the frame. */
export function formFrame(filename: string, boundary: string): Form {
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="file"; filename="${quotable(filename)}"`,
    "Content-Type: application/octet-stream",
  ];
  const encoder = new TextEncoder();
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    frame: {
      before: encoder.encode(`${head.join("\r\n")}\r\n\r\n`),
      after: encoder.encode(`\r\n--${boundary}--\r\n`),
    },
  };
}

/** As browsers write names. */
function quotable(name: string): string {
  return name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}
