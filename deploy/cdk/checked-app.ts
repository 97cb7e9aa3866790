import { App, type AppProps, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";

/** An app whose synthesis ends with an error at any finding of cdk-nag or cloudformation-validate that is not explained. */
export function checkedApp(props: AppProps = {}): App {
  const app = new App({
    analyticsReporting: false,
    context: { "@aws-cdk/core:validateAgainstDefaultRules": true },
    ...props,
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return app;
}
