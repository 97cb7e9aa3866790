import type { CallbackPayload } from "./callback.ts";
import type { DownloadScanResultDetail } from "./events.ts";
import { type Feature, type Installation, supports } from "./features.ts";
import type { FindingsAttributes, FindingsMessage, FittedAttributes, FittedMessage } from "./findings-topic.ts";
import type { ScanResult } from "./result.ts";

// What is sent, cut down to the fields that the installation's versions know. A field the spec requires is left out all
// the same where the version lacks it.

/** A message on the findings topic; also the detail of a `Scan Result` event. */
export function fitMessage(message: FindingsMessage, installation: Installation): FittedMessage {
  return fit<FittedMessage>(message, installation, {
    version: "topic.version",
    size: "topic.size",
    trace_id: "topic.trace_id",
    custom_data: "topic.custom_data",
    realfiletype: "topic.realfiletype",
  });
}

/** A field that the message lacks is no attribute either; `finding` has a bound of its own. */
export function fitAttributes(attributes: FindingsAttributes, installation: Installation): FittedAttributes {
  return fit<FittedAttributes>(attributes, installation, {
    version: "topic.version",
    size: "topic.size",
    finding: "topic.attribute.finding",
    trace_id: "topic.trace_id",
  });
}

/**
 * How a message on the topic is written to subscribers that take JSON. With "text" they get what email subscribers get:
 * the human-readable string, made of the fitted message.
 */
export function topicBody(installation: Installation): "json" | "text" {
  return supports(installation, "topic.json") ? "json" : "text";
}

export function fitCallback(payload: CallbackPayload, installation: Installation): CallbackPayload {
  return fit(payload, installation, { realfiletype: "callback.realfiletype" });
}

/** The answer of a poll. */
export function fitAsyncResult(result: ScanResult, installation: Installation): ScanResult {
  return fit(result, installation, { realfiletype: "async.result.realfiletype" });
}

export function fitSyncResult(result: ScanResult, installation: Installation): ScanResult {
  return fit(result, installation, { realfiletype: "sync.result.realfiletype" });
}

/** Undefined when there is no such event with this installation. */
export function fitDownloadScanResult(
  detail: DownloadScanResultDetail,
  installation: Installation,
): DownloadScanResultDetail | undefined {
  if (!supports(installation, "event.download_scan_result")) return undefined;
  return fit(detail, installation, { realfiletype: "event.download_scan_result.realfiletype" });
}

/** A copy without the fields whose feature the installation lacks; the order of the others stays. */
function fit<Fields extends object>(
  fields: Fields,
  installation: Installation,
  needs: Readonly<Partial<Record<OptionalField<Fields>, Feature>>>,
): Fields {
  const fitted = { ...fields };
  for (const field of Object.keys(needs) as OptionalField<Fields>[]) {
    const feature = needs[field];
    if (feature && field in fitted && !supports(installation, feature)) delete fitted[field];
  }
  return fitted;
}

/** Only what a type allows to be absent may be left out. */
type OptionalField<Fields> = {
  [Name in keyof Fields]-?: object extends Pick<Fields, Name> ? Name : never;
}[keyof Fields];
