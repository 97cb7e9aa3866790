import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Findings of cdk-nag and cloudformation-validate that stand, for this construct and what is in it: id → why. */
export function explained(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  Validations.of(construct).acknowledge(...Object.entries(reasons).map(([id, reason]) => ({ id, reason })));
}
