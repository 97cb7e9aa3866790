import { type App, Stack } from "aws-cdk-lib";
import { stackOptions } from "../parts/stack-options.ts";
import { tell } from "../parts/told.ts";
import { alarms } from "./alarms.ts";
import { announcements } from "./announcements.ts";
import { dashboard } from "./dashboard.ts";
import { network } from "./network.ts";
import { objectScansPolicy } from "./object-scans-policy.ts";
import { queues } from "./queues.ts";
import { resultsTable } from "./results-table.ts";
import { scaling } from "./scaling.ts";
import { scannerParameters } from "./scanner-parameters.ts";
import { signatureAge, verdicts } from "./signature-age.ts";
import { signatureMirror } from "./signature-mirror.ts";
import { workerFleet } from "./worker-fleet.ts";
import { workerRole } from "./worker-role.ts";

/** An installation: where jobs wait, who works them off, and where results go. The add-ons put an API in front of it. */
export function scannerStack(app: App, stackName: string): Stack {
  const stack = new Stack(app, "scanner", stackOptions(stackName, "Lazaret: queue, workers, results and alarms"));
  const parameters = scannerParameters(stack);
  const net = network(stack, parameters);
  const both = queues(stack);
  const table = resultsTable(stack);
  const announced = announcements(stack, parameters);
  const objectScans = objectScansPolicy(stack, parameters, announced);
  const role = workerRole(stack, { queues: both, table, objectScans, sign: parameters.signCallbackInvocations });
  const fleet = workerFleet(stack, {
    parameters,
    network: net,
    queues: both,
    table,
    announcements: announced,
    signatureMirror: signatureMirror(stack, net),
    role,
  });
  scaling(stack, fleet, { parameters, jobs: both.jobs });

  const age = signatureAge(stack, fleet.logs);
  const raised = alarms(stack, { queues: both, signatureAge: age, alarmTopicArn: announced.alarms.topicArn });
  dashboard(stack, { queues: both, fleet, signatureAge: age, verdicts: verdicts(stack, fleet.logs), alarms: raised });

  tell(stack, "SignsCallbacks", "true", parameters.signCallbackInvocations.on);
  tell(stack, "Engine", parameters.engine.valueAsString);
  tell(stack, "DeleteInfectedFiles", parameters.deleteInfectedFiles.parameter.valueAsString);
  tell(stack, "TagFiles", parameters.tagFiles.parameter.valueAsString);
  tell(stack, "TagKey", parameters.tagKey.valueAsString);
  tell(stack, "ReportCleanFiles", parameters.reportCleanFiles.parameter.valueAsString);
  tell(stack, "ImageRepository", parameters.imageRepository.valueAsString);
  tell(stack, "ImageTag", parameters.imageTag.valueAsString);
  return stack;
}
