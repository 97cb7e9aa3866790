/** Where the database is and how it is reached, in libpq's words. */
export interface DatabaseAddress {
  /** In the order in which they are preferred. */
  servers: readonly Server[];
  user: string | undefined;
  password: string | undefined;
  database: string | undefined;
  /** Sent to the server as they are: `-c name=value`. */
  options: string | undefined;
  /** Undefined: in clear. Never asked for on a socket of this machine. */
  tls: Tls | undefined;
  /** Whether a server must say that it takes writes before it is used. */
  primaryOnly: boolean;
}

export interface Server {
  /** A name, an address, or the folder of a socket. */
  host: string;
  port: number;
}

interface Tls {
  /** What the server's certificate must show: nothing, whose authority it is of, or its name as well. */
  verify: "nothing" | "authority" | "name";
  /** Paths of PEM files. */
  rootCert?: string;
  cert?: string;
  key?: string;
}

type Parsed<Value> = { value: Value } | { problem: string };

const FORM =
  "must be postgresql://user:password@host:port/name, with several hosts a:5432,b:5432, or host=a,b user=… dbname=…";
const DEFAULT_PORT = "5432";
const known = [
  "host",
  "port",
  "user",
  "password",
  "dbname",
  "options",
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "target_session_attrs",
  // Ours is "lazaret", whatever it says.
  "application_name",
];

/** A URL or words (`host=a,b dbname=x`), as libpq takes them. No problem shows anything of the text: it has a password. */
export function parsePostgresUrl(text: string): Parsed<DatabaseAddress> {
  const words = /^postgres(?:ql)?:\/\//.test(text) ? wordsOfUrl(text) : wordsOf(text);
  if ("problem" in words) return words;
  const { value } = words;
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const name = /^[a-z_]{1,40}$/.test(unknown) ? `the parameter ${unknown}` : "a parameter";
    return { problem: `has ${name}, which is none that lazaret knows (${known.join(", ")})` };
  }
  const servers = serversOf(value.host ?? "localhost", value.port ?? DEFAULT_PORT);
  if ("problem" in servers) return servers;
  const tls = tlsOf(value);
  if ("problem" in tls) return tls;
  const wanted = value.target_session_attrs ?? "any";
  if (!["any", "read-write", "primary"].includes(wanted)) {
    return { problem: "asks for target_session_attrs that takes no writes: use read-write" };
  }
  return {
    value: {
      servers: servers.value,
      user: value.user,
      password: value.password,
      database: value.dbname,
      options: value.options,
      tls: tls.value,
      // Of several at most one takes writes, whether the URL says so or not.
      primaryOnly: wanted !== "any" || servers.value.length > 1,
    },
  };
}

type Words = Partial<Record<string, string>>;

function wordsOfUrl(text: string): Parsed<Words> {
  const parts = /^[a-z]+:\/\/(?:(?<login>[^/?]*)@)?(?<hosts>[^/?@]*)(?:\/(?<name>[^?]*))?(?:\?(?<query>.*))?$/s.exec(
    text,
  );
  const { login = "", hosts = "", name = "", query = "" } = parts?.groups ?? {};
  // What stands behind an unescaped / of a password would pass for the database, and its beginning for a host.
  if (!parts || /[@/]/.test(name))
    return { problem: `${FORM}; write : / ? # @ % in a password as %3A %2F %3F %23 %40 %25` };
  try {
    const words: Words = {};
    const [user = "", ...password] = login.split(":");
    if (user !== "") words.user = decodeURIComponent(user);
    if (password.length > 0) words.password = decodeURIComponent(password.join(":"));
    if (name !== "") words.dbname = decodeURIComponent(name);
    if (hosts !== "") {
      const each = hosts
        .split(",")
        .map((host) => /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>.*))?$/.exec(host)?.groups ?? {});
      words.host = each.map(({ host = "" }) => decodeURIComponent(host).replace(/^\[(.*)\]$/, "$1")).join(",");
      words.port = each.map(({ port = "" }) => port).join(",");
    }
    for (const [key, value] of new URLSearchParams(query.replaceAll("+", "%2B"))) words[key] = value;
    return { value: words };
  } catch {
    return { problem: "has a % that is no escape: write it as %25" };
  }
}

function wordsOf(text: string): Parsed<Words> {
  const word = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?:\s+|$)/sy;
  const words: Words = {};
  while (word.lastIndex < text.length) {
    const found = word.exec(text);
    if (!found?.[1]) return { problem: FORM };
    words[found[1]] = (found[2] ?? found[3] ?? "").replace(/\\(.)/gs, "$1");
  }
  return { value: words };
}

function serversOf(hosts: string, ports: string): Parsed<Server[]> {
  const names = hosts.split(",").map((host) => host.trim() || "localhost");
  const numbers = ports.split(",").map((port) => port.trim() || DEFAULT_PORT);
  if (numbers.length !== 1 && numbers.length !== names.length) {
    return { problem: `has ${names.length} hosts and ${numbers.length} ports: write one port, or one for each host` };
  }
  const servers = names.map((host, index) => ({ host, port: Number(numbers[index] ?? numbers[0]) }));
  if (servers.some(({ port }) => !Number.isInteger(port) || port < 1 || port > 65_535)) {
    return { problem: `has a port that is no number from 1 to 65535; ${FORM}` };
  }
  return { value: servers };
}

/** Nothing falls back to a connection in clear: whoever asks for TLS has it, or an error. */
function tlsOf({ sslmode, sslrootcert, sslcert, sslkey }: Words): Parsed<Tls | undefined> {
  const mode = sslmode ?? (sslrootcert === undefined ? "disable" : "verify-full");
  if (mode === "disable") return { value: undefined };
  if (!["require", "verify-ca", "verify-full"].includes(mode)) {
    return {
      problem:
        "has an sslmode that is not disable, require, verify-ca or verify-full (prefer and allow hide that there is no TLS)",
    };
  }
  if ((sslcert === undefined) !== (sslkey === undefined)) return { problem: "needs both of sslcert and sslkey" };
  const own = sslcert !== undefined && sslkey !== undefined ? { cert: sslcert, key: sslkey } : {};
  // `system`: the authorities that come with Node, and those of NODE_EXTRA_CA_CERTS.
  const root = sslrootcert === undefined || sslrootcert === "system" ? {} : { rootCert: sslrootcert };
  if (mode === "verify-full") return { value: { verify: "name", ...root, ...own } };
  if (root.rootCert !== undefined) return { value: { verify: "authority", ...root, ...own } };
  if (mode === "require") return { value: { verify: "nothing", ...own } };
  return { problem: "has sslmode=verify-ca, which needs sslrootcert=/path/to/ca.pem" };
}
