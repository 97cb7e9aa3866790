import {
  DOWNLOAD_SCAN_RESULT,
  fitAttributes,
  fitDownloadScanResult,
  fitMessage,
  type Installation,
  SCAN_RESULT,
  topicBody,
} from "@lazaret/contract";
import type { ScannedJob } from "../model/job.ts";
import type { CallbackFailure } from "./callback-failures.ts";
import { busEvent, type EventBus, type EventOrigin, messageId } from "./event-bus.ts";
import { attributesOf, type FindingsTopic } from "./findings-topic.ts";
import { downloadScanResult, findingsMessage, type ObjectScan } from "./render.ts";

/** Announces results to topic and event bus. Durable when it resolves; announced again, the ids are the same. */
export interface Announcer {
  objectScan(scan: ObjectScan): Promise<void>;
  downloadScan(job: ScannedJob, callbackFailure?: CallbackFailure): Promise<void>;
}

export interface AnnouncerOptions {
  topic: FindingsTopic;
  eventBus: EventBus;
  origin: EventOrigin;
  reportEventBus: boolean;
  reportCleanFiles: boolean;
  /** Messages have a field `tenant` more than the spec's. */
  tellTenant: boolean;
  /** What is announced is cut down to the fields that its version knows. */
  installation: Installation;
}

export function announcer(options: AnnouncerOptions): Announcer {
  const { topic, eventBus, origin, reportEventBus, reportCleanFiles, tellTenant, installation } = options;

  function withTenant<Fields>(fields: Fields, { tenant }: { tenant?: string }): Fields {
    return tellTenant && tenant !== undefined ? { ...fields, tenant } : fields;
  }

  return {
    async objectScan(scan) {
      const whole = findingsMessage(scan);
      const message = withTenant(fitMessage(whole, installation), scan);
      const reported = message.status !== "clean" || reportCleanFiles;
      const content = { detailType: SCAN_RESULT, detail: message } as const;
      // Asked for together, so that a platform can write both or neither.
      await Promise.all([
        reported &&
          topic.publish({
            id: messageId(scan.id, "finding"),
            message,
            attributes: fitAttributes(attributesOf(whole), installation),
            body: topicBody(installation),
          }),
        reportEventBus && eventBus.publish(busEvent(messageId(scan.id, SCAN_RESULT), content, origin)),
      ]);
    },

    async downloadScan(job, callbackFailure) {
      if (!reportEventBus) return;
      const whole = downloadScanResult(job, job.report, {
        downloadEndedAt: origin.now(),
        ...(callbackFailure && { callbackFailure }),
      });
      const fitted = fitDownloadScanResult(whole, installation);
      if (!fitted) return;
      const detail = withTenant(fitted, job);
      const id = messageId(job.id, callbackFailure ? "callback failed" : DOWNLOAD_SCAN_RESULT);
      await eventBus.publish(busEvent(id, { detailType: DOWNLOAD_SCAN_RESULT, detail }, origin));
    },
  };
}
