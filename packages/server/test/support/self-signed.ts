import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SelfSigned {
  /** PEM, its own authority. */
  cert: string;
  key: string;
}

/** A certificate for these names (`DNS:pub.test`, `IP:127.0.0.1`), made on the spot: no key is ever in the repository. */
export function selfSigned(...names: readonly string[]): SelfSigned {
  const folder = mkdtempSync(join(tmpdir(), "lazaret-cert-"));
  const cert = join(folder, "cert.pem");
  const key = join(folder, "key.pem");
  try {
    const made = ["-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"];
    const about = ["-subj", "/CN=test", "-addext", `subjectAltName=${names.join(",")}`];
    execFileSync("openssl", ["req", ...made, ...about, "-out", cert, "-keyout", key], { stdio: "pipe" });
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
