import { Command } from "commander";
import { withExamples } from "./examples.ts";
import { loadSettings } from "./load-settings.ts";
import { print } from "./terminal/output.ts";

export function openapiCommand(): Command {
  const command = new Command("openapi")
    .description("print the API as an OpenAPI 3.1 document, with no server")
    .action(async () => {
      const { openApiDocument } = await import("../compose/routes.ts");
      print(openApiDocument(loadSettings({}, {}).settings));
    });
  return withExamples(command, [["openapi > openapi.json", "the same as GET /openapi.json"]]);
}
