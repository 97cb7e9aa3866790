import { Problem } from "../problem.ts";
import type { ApiRequest } from "../request-answer.ts";

export interface OriginOptions {
  /** Where clients reach the service, if an operator said so. */
  publicUrl: string;
  /** Proxies stand before it, who say under which name they were asked. */
  behindProxies: boolean;
}

/** Pages of this service, as browsers name them in `Origin`. */
export interface OwnOrigin {
  /** Throws the 403 problem for a page of somebody else, and where it is not said whose it is, unless that is `optional`. */
  check(request: ApiRequest, optional?: boolean): void;
}

/**
 * The name in `Origin` must be the one that the request was sent to. A page of somebody else can neither change `Host` nor add other
 * headers without asking first, which is refused.
 */
export function ownOrigin({ publicUrl, behindProxies }: OriginOptions): OwnOrigin {
  const announced = URL.parse(publicUrl)?.origin;

  function isOwn(origin: string, { headers }: ApiRequest): boolean {
    if (origin === announced) return true;
    const host = URL.parse(origin)?.host;
    if (!host || !/^https?:\/\//.test(origin)) return false;
    const forwarded = behindProxies ? headers["x-forwarded-host"]?.split(",")[0]?.trim() : undefined;
    return [headers.host, forwarded].some((name) => name !== undefined && sameHost(name, host));
  }

  return {
    check(request, optional = false) {
      const { origin } = request.headers;
      if (origin === undefined ? optional : isOwn(origin, request)) return;
      throw new Problem(403, "csrf", {
        message:
          origin === undefined
            ? "the header Origin is missing"
            : "the header Origin names a page that is not this service's",
        hint: "behind a proxy that changes Host, set LAZARET_PUBLIC_URL to where browsers reach the service; scripts send the key as a bearer instead",
      });
    },
  };
}

/** Browsers leave the usual ports out of `Origin`; proxies may not leave them out of `Host`. */
function sameHost(name: string, host: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/:(?:80|443)$/, "");
  return plain(name) === plain(host);
}

export function isLoopback(address: string): boolean {
  return /^127\.\d+\.\d+\.\d+$|^::1$/.test(address);
}

/** Whether a browser that asks under this name talks to its own machine. */
export function isLoopbackName(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return isLoopback(name) || /^(?:.+\.)?localhost$/i.test(name);
}
