import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { forbiddenHost, forbiddenIpv6 } from "../../test/support/addresses.ts";
import { fakeNetwork } from "../../test/support/fake-network.ts";
import "../../test/support/leftovers.ts";
import { httpServer, httpsServer, type LoopbackServer } from "../../test/support/loopback-server.ts";
import { type SelfSigned, selfSigned } from "../../test/support/self-signed.ts";
import { httpDownload } from "../fetch/http-download.ts";
import { SourceFailed } from "../model/source.ts";
import { addressGuard } from "./address-guard.ts";

interface OutboundCase {
  id: string;
  category: string;
  url: string;
  resolves_to: string[] | null;
  resolves_sequence?: string[][];
  redirect: string | null;
  must_block: boolean;
  why: string;
  config?: { allow_cidrs: string[] };
}

const file = new URL("../../test/cases/outbound.json", import.meta.url);
const { cases }: { cases: OutboundCase[] } = JSON.parse(readFileSync(file, "utf8"));

/** The one address that a blocked case may have contacted: its harmless first hop. */
const PUBLIC_ADDRESS = "93.184.216.34";
const BODY = "the bytes of a file";

/** Refused by their syntax before anybody looks where they lead. */
const refusedAsInvalid = new Set(["S031", "S032", "S057"]);
const judgedAtSubmit = ["literal-v4", "encoded-v4", "literal-v6", "scheme", "syntax", "port"];

function guardFor({ config }: OutboundCase) {
  return addressGuard({ allowNetworks: config?.allow_cidrs ?? [], allowHosts: [] });
}

describe("the outbound cases, when a URL is submitted", () => {
  for (const outbound of cases) {
    it(`${outbound.id} ${outbound.url}: ${outbound.why}`, () => {
      const literal = outbound.category === "allowlist" && outbound.resolves_to === null;
      const judged = outbound.must_block && (judgedAtSubmit.includes(outbound.category) || literal);
      const invalid = outbound.category === "syntax" || refusedAsInvalid.has(outbound.id);
      const refusal = invalid ? "invalid" : "blocked";
      assert.equal(guardFor(outbound).checkUrl(outbound.url).kind, judged ? refusal : "allowed");
    });
  }
});

describe("the outbound cases, when a file is downloaded", () => {
  let identity: SelfSigned;
  let plain: LoopbackServer;
  let secure: LoopbackServer;
  let redirect: { host: string; path: string; location: string } | undefined;

  const answer: RequestListener = (request, response) => {
    const redirected = redirect && request.headers.host === redirect.host && request.url === redirect.path;
    if (redirected) response.writeHead(302, { location: redirect?.location });
    response.end(redirected ? undefined : BODY);
  };

  before(async () => {
    identity = selfSigned("DNS:pub.test");
    plain = await httpServer(answer);
    secure = await httpsServer(identity, answer);
  });

  after(async () => {
    await plain[Symbol.asyncDispose]();
    await secure[Symbol.asyncDispose]();
  });

  for (const outbound of cases) {
    it(`${outbound.id} ${outbound.url}: ${outbound.why}`, async () => {
      const { hostname, host, pathname } = new URL(URL.canParse(outbound.url) ? outbound.url : "http://none.test/");
      redirect = outbound.redirect ? { host, path: pathname, location: outbound.redirect } : undefined;
      const ownAnswers = outbound.resolves_sequence ?? (outbound.resolves_to ? [outbound.resolves_to] : []);
      const network = fakeNetwork({
        names: {
          "pub.test": [[PUBLIC_ADDRESS]],
          "v6only.test": [["2606:2800:220:1:248:1893:25c8:1946"]],
          [hostname.replace(/\.$/, "")]: ownAnswers,
        },
        portFor: (port) => (port === 443 ? secure.port : plain.port),
      });
      const download = httpDownload({ guard: guardFor(outbound), version: "0", ca: identity.cert, ...network });

      const read = async (): Promise<string> => {
        const { bytes } = await download.open(
          { kind: "url", url: outbound.url, headers: {} },
          new AbortController().signal,
        );
        return Buffer.concat(await Array.fromAsync(bytes)).toString();
      };
      if (!outbound.must_block) {
        assert.equal(await read(), BODY);
        return;
      }
      await assert.rejects(read(), SourceFailed);
      const addresses = network.dialled.flatMap((target) => target.addresses);
      const harmless = outbound.redirect ? [PUBLIC_ADDRESS] : [];
      assert.deepEqual(
        addresses.filter((address) => !harmless.includes(address)),
        [],
        "dialled although blocked",
      );
      assert.ok(
        network.dialled.every(({ port }) => port === 80 || port === 443),
        "dialled a port although blocked",
      );
    });
  }
});

describe("a forbidden address", () => {
  const guard = addressGuard({ allowNetworks: [], allowHosts: [] });
  const signal = new AbortController().signal;
  const host = fc.oneof(
    forbiddenHost,
    forbiddenIpv6.map((address) => `[${address}]`),
  );

  it("is never dialled, however it is written", async () => {
    const property = fc.asyncProperty(host, fc.constantFrom("http", "https"), async (written, scheme) => {
      const network = fakeNetwork({});
      const download = httpDownload({ guard, version: "0", ...network });
      const opened = download.open({ kind: "url", url: `${scheme}://${written}/`, headers: {} }, signal);
      await assert.rejects(opened, SourceFailed);
      assert.deepEqual(network.dialled, []);
    });
    await fc.assert(property);
  });

  // spec: error-9
  it("is never dialled, whatever name resolves to it", async () => {
    const address = fc.oneof(fc.constantFrom("127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1"), forbiddenIpv6);
    const property = fc.asyncProperty(
      fc.shuffledSubarray(["93.184.216.34", "2606:4700::1"]),
      address,
      async (open, shut) => {
        const network = fakeNetwork({
          names: {
            "pub.test": [
              [...open, shut],
              [shut, ...open],
            ],
          },
        });
        const download = httpDownload({ guard, version: "0", ...network });
        const opened = download.open({ kind: "url", url: "http://pub.test/", headers: {} }, signal);
        await assert.rejects(opened, SourceFailed);
        assert.deepEqual(network.dialled, []);
      },
    );
    await fc.assert(property);
  });
});
