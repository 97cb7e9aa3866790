import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/lists.css";
import "./style/pages.css";
import "./style/narrow.css";
import { applyTheme } from "./theme.ts";
import { session } from "./wire/api.ts";
import { connect, disconnect } from "./wire/live.ts";

applyTheme();
effect(() => {
  if (session.value) connect();
  else disconnect();
});
const place = document.getElementById("app");
if (place) render(<App />, place);
