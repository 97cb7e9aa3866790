import { fileURLToPath } from "node:url";
import { bundleFunction } from "./bundle-function.ts";
import { checkedApp } from "./checked-app.ts";
import { stacks } from "./stacks.ts";

const functionCode = fileURLToPath(new URL("dist/function", import.meta.url));
await bundleFunction("src/lambda.ts", functionCode);
const app = checkedApp(
  process.env.CDK_OUTDIR ? {} : { outdir: fileURLToPath(new URL("dist/cdk.out", import.meta.url)) },
);
stacks(app, functionCode);
app.synth();
