import { type Installation, latestAddOns } from "@lazaret/contract";
import type { PublicKeys } from "../deliver/signing-keys.ts";
import { objectAddress } from "../fetch/object-reader.ts";
import { DEFAULT_TENANT } from "../model/tenant.ts";
import type { AddressGuard } from "../net/address-guard.ts";
import type { Platform } from "../platforms/platform.ts";
import { asyncHandlers, type SubmitJob } from "../receive/async-routes.ts";
import type { AdminHandlers } from "../receive/console/endpoints.ts";
import { type FamilyHandlersOptions, familyHandlers } from "../receive/family-routes.ts";
import { keyHandlers } from "../receive/key-routes.ts";
import { objectLinkHandlers } from "../receive/object-link-routes.ts";
import type { Route } from "../receive/route.ts";
import { document, routes } from "../receive/routes.ts";
import { type ServiceHandlersOptions, serviceHandlers, versionHandlers } from "../receive/service-routes.ts";
import { type ScanNow, syncHandlers } from "../receive/sync-routes.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import type { Console } from "./console.ts";
import type { ObjectStore } from "./platform.ts";

export interface RouteParts extends ServiceHandlersOptions {
  platform: Platform;
  objects: ObjectStore;
  /** Where files may be fetched from, and where results may be posted to. */
  guard: AddressGuard;
  callbackGuard: AddressGuard;
  submit: SubmitJob;
  usedThisMonth: FamilyHandlersOptions["usedThisMonth"];
  publicKeys(): Promise<PublicKeys | undefined>;
  /** Undefined where files are not scanned while the request waits, such as in a function: it has no folders either. */
  scanNow?: ScanNow;
  /** Undefined where there is no console. */
  console?: Console | undefined;
  /** What the console shows and does, where there is one. */
  admin?: AdminHandlers | undefined;
}

/** Settings and parts → the routes that a server or a function has. */
export function routesOf(settings: Settings, parts: RouteParts): Route[] {
  const { platform, objects, guard, callbackGuard, scanNow } = parts;
  const { downloads, allowHttpCallbacks, monthlyQuota } = settings;
  const installation = installationOf(settings);
  const tenantIdOf = (tenant: string): string => (tenant === DEFAULT_TENANT ? platform.tenantId : tenant);
  const checks = { checkDestination: guard.checkUrl, checkObject: objects.problemWith };
  const checkLink = scanNow && objects.checkLink;
  const handlers = {
    ...asyncHandlers({
      ...checks,
      checkCallback: callbackGuard.checkUrl,
      objectAddress: objectAddress(objects),
      allowHttpCallbacks,
      tenantIdOf,
      submit: parts.submit,
      installation,
      downloads,
      findResult: platform.results.find,
    }),
    ...(scanNow && syncHandlers({ ...checks, downloads, scanNow })),
    ...familyHandlers({
      tenantIdOf,
      usedThisMonth: parts.usedThisMonth,
      monthlyQuota,
      callbackFailures: platform.callbackFailures.list,
    }),
    ...keyHandlers({ publicKeys: parts.publicKeys }),
    ...(checkLink && objectLinkHandlers({ checkLink, open: objects.open })),
    ...versionHandlers({ version, installation }),
    ...serviceHandlers({ metrics: parts.metrics, readiness: parts.readiness }),
    ...parts.admin,
    ...(parts.console && { ...parts.console.entrance.handlers, consoleFiles: parts.console.files }),
  };
  const serving = {
    role: settings.role,
    scans: scanNow !== undefined,
    folders: checkLink !== undefined,
    console: parts.console !== undefined,
    admin: parts.console !== undefined && parts.admin !== undefined,
  };
  return routes(serving, handlers, { version });
}

/** The document that a service with these settings serves. A test holds the two together. */
export function openApiDocument(settings: Settings): Record<string, unknown> {
  const folders = settings.s3Endpoint === "" && settings.platform !== "aws";
  const console = settings.console === "on" && settings.role !== "worker";
  return document({ role: settings.role, scans: true, folders, console, admin: console }, { version });
}

/** The versions this installation declares. */
export function installationOf(settings: Settings): Installation {
  return { ...latestAddOns, variant: settings.engine, engineVersion: settings.engineVersion };
}
