import { type CfnParameter, Fn, type Stack } from "aws-cdk-lib";
import { parameter, type Switch, yesOrNo } from "./parameters.ts";
import { askScanner, type Told } from "./told.ts";

export interface AddOnParameters {
  apiKeys: CfnParameter;
  scannerStackName: CfnParameter;
  reportEventBus: Switch;
  downloads: Switch;
  /** Asks the scanner stack that was named. */
  told: (name: Told) => string;
  /** `true` for what the parameter asks for and the scanner does; refused when the scanner does not. */
  agreed: (asked: Switch, does: Told) => string;
}

const KEY = "[!-+\\--~]{16,512}";

/** What the spec has for both APIs. */
export function addOnParameters(stack: Stack, scannerName: string): AddOnParameters {
  const apiKeys = parameter(stack, "ApiKeys", {
    description: "Accepted bearer secrets, comma-separated. At least one",
    noEcho: true,
    allowedPattern: `\\s*${KEY}\\s*(,\\s*${KEY}\\s*)*`,
    constraintDescription: "must be one or more secrets of 16 to 512 visible characters, with commas between them",
  });
  const scannerStackName = parameter(stack, "ScannerStackName", {
    description: "Name of the scanner stack that this API is for",
    default: scannerName,
    allowedPattern: "[A-Za-z][A-Za-z0-9-]{0,127}",
    constraintDescription: "must be the name of a stack",
  });
  const told = askScanner(scannerStackName);
  return {
    apiKeys,
    scannerStackName,
    reportEventBus: yesOrNo(stack, "ReportEventBus", {
      description: "Scan results are emitted as events on the event bus. True only if it is for the scanner too",
      default: false,
    }),
    downloads: yesOrNo(stack, "Downloads", {
      description: "false for a scanner in a private network: files are not downloaded from URLs",
      default: true,
    }),
    told,
    agreed: (asked, does) => Fn.conditionIf(asked.on.logicalId, told(does), "false").toString(),
  };
}
