// npm run build: both packages as they are published, as tarballs in dist or the folder named.
import { relative, resolve } from "node:path";
import { packAll } from "./pack.ts";
import { manifestOf, root } from "./project.ts";

const out = resolve(process.argv[2] ?? `${root}/dist`);
const packed = packAll(out, manifestOf("packages/server").version);
for (const path of Object.values(packed)) console.log(relative(process.cwd(), path));
