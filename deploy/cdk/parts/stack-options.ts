import { DefaultStackSynthesizer, type StackProps } from "aws-cdk-lib";

/** Stacks for any account and region. No rule about the bootstrap version: its parameter would be one more to explain. */
export function stackOptions(stackName: string, description: string): StackProps {
  return {
    stackName,
    description,
    synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
  };
}
