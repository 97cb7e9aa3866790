// Imported ahead of a program: writes down, in the file that LOADED names, every module that it loads.
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const urls: string[] = [];
registerHooks({
  load(url, context, next) {
    urls.push(url);
    return next(url, context);
  },
});
process.on("exit", () => writeFileSync(process.env.LOADED ?? "", urls.join("\n")));
