// In one process, which compiles the rules once for all of them.
import "./droppers.ts";
import "./html-smuggling.ts";
import "./miners.ts";
import "./office-macros.ts";
import "./powershell.ts";
import "./test-files.ts";
import "./web-shells.ts";
