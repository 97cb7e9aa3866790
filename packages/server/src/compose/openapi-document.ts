import { asyncRoutes } from "../receive/async-routes.ts";
import { inBothDialects } from "../receive/dialect.ts";
import { familyRoutes } from "../receive/family-routes.ts";
import { keyRoutes } from "../receive/key-routes.ts";
import { objectLinkRoutes } from "../receive/object-link-routes.ts";
import { openApi } from "../receive/reference/openapi.ts";
import type { Route } from "../receive/route.ts";
import { serviceRoutes } from "../receive/service-routes.ts";
import { syncRoutes } from "../receive/sync-routes.ts";
import { versionRoute } from "../receive/version-route.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { installationOf } from "./installation.ts";

/** The document that a service with these settings serves. A test holds the two together. */
export function openApiDocument(settings: Settings): Record<string, unknown> {
  const routes: Route[] = settings.role === "worker" ? [] : apiRoutes(settings);
  routes.push(versionRoute({ version, installation: installationOf(settings) }));
  const service = serviceRoutes({ version, routes, readiness: unasked, metrics: unasked });
  return openApi([...routes, ...service.filter(({ path }) => !BESIDE.includes(path))], version);
}

/** Served beside the document, and not described in it. */
const BESIDE = ["/openapi.json", "/docs"];

function apiRoutes(settings: Settings): Route[] {
  const { allowHttpCallbacks, downloads, monthlyQuota } = settings;
  const checks = { checkDestination: unasked, checkObject: unasked };
  const folders = settings.s3Endpoint === "" && settings.platform === "embedded";
  return [
    ...inBothDialects([
      ...asyncRoutes({
        ...checks,
        checkCallback: unasked,
        objectAddress: unasked,
        allowHttpCallbacks,
        tenantId: "",
        submit: unasked,
        installation: installationOf(settings),
        downloads,
        findResult: unasked,
      }),
      ...syncRoutes({ ...checks, downloads, scanNow: unasked }),
    ]),
    ...familyRoutes({ tenantId: "", scansThisMonth: unasked, monthlyQuota, callbackFailures: unasked }),
    ...keyRoutes({ publicKeys: unasked }),
    ...(folders ? objectLinkRoutes({ checkLink: unasked, open: unasked }) : []),
  ];
}

/** Nobody asks these routes anything. */
function unasked(): never {
  throw new Error("cannot answer a request: these routes are for the document only");
}
