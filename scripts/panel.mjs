// npm run panel: sets up the server and the readers that others wrote, then changes containers a few bytes at a time and
// looks for what a reader gives out and we call clean. The arguments are those of panel/run.ts.

import { join } from "node:path";
import { containerMakers } from "./proof-programs.mjs";
import { installDebianPackages, installPackages, installPackagesOf, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installPackagesOf("panel");
installDebianPackages(
  {
    ...containerMakers,
    // They only read. Ruby, Java and Go are large: they are asked where they are there.
    "libarchive-zip-perl": ["/usr/share/perl5/Archive/Zip.pm"],
    "libmime-tools-perl": ["/usr/share/perl5/MIME/Parser.pm"],
    msitools: ["msiextract"],
    "php-cli": ["php"],
    "php-zip": ["/usr/share/doc/php-zip"],
    rpm2cpio: ["rpm2cpio"],
  },
  { optional: true },
);
runOwnNode([join(root, "panel", "run.ts"), ...process.argv.slice(2)]);
