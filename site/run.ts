import { fileURLToPath } from "node:url";
import { buildSite } from "./build.ts";

const folder = fileURLToPath(new URL("dist", import.meta.url));
const { pages, broken } = buildSite(folder);
console.log(`${pages.size} pages in site/dist: open site/dist/index.html, or serve the folder`);
for (const link of broken) console.log(`leads nowhere: ${link}`);
if (broken.length > 0) process.exitCode = 1;
