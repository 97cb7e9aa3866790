import { originProblem } from "../net/origin-list.ts";
import { list, setting } from "./setting.ts";

/** The part of the table about who hears of traces; whether there are any, and where they go, is up to the variables of OpenTelemetry. */
export const traceSettings = {
  traceCallbacks: setting({
    doc: "Receivers that are sent `traceparent` with callbacks, where there are traces (docs/traces.md): origins, comma-separated, such as https://app.example.com or https://*.example.com; `*` for all. Nobody by default.",
    parse: list(originProblem),
    default: "",
  }),
  traceDownloads: setting({
    doc: "The same for servers that files are fetched from; a server that they redirect to gets it only if it is named too.",
    parse: list(originProblem),
    default: "",
  }),
};
