import { checkRule } from "./check-rule.ts";

const save = [
  "var u = URL.createObj",
  "ectURL(b); var a = document.createElement('a'); a.href = u; a.down",
  "load = 'invoice.zip'; a.click();",
];
const base64 = (magic: string): string => `${magic}${"QUFB".repeat(100)}`;

checkRule("HTML_Smuggling_Base64", {
  matches: {
    "a program": ["<script>var d = at", `ob("${base64("TVqQ")}"); var b = new Bl`, "ob([d]); ", ...save, "</script>"],
    "an archive": ["<script>var d = at", `ob('${base64("UEsDB")}'); var b = new Bl`, "ob([d]); ", ...save, "</script>"],
  },
  misses: {
    "a page that saves a picture": [
      `<script>var d = atob("${base64("iVBORw0KGgo")}"); var b = new Blob([d]); `,
      ...save,
      "</script>",
    ],
    "a page that saves a table": [
      "<script>var b = new Blob([table.toCsv()], {type: 'text/csv'}); ",
      ...save,
      "</script>",
    ],
    "an archive that is not saved": [`<script>const fixture = "${base64("UEsDB")}"; unzip(atob(fixture));</script>`],
  },
});

checkRule("HTML_Smuggling_Bytes", {
  matches: {
    "a program": [
      "<script>var d = new Uint8Array([77, 90, 14",
      "4, 0, 3]); var b = new Bl",
      "ob([d]); ",
      ...save,
      "</script>",
    ],
    "an archive": ["<script>var d = [0x50,0x4b,0x0", "3,0x04,0x14]; var b = new Bl", "ob([d]); ", ...save, "</script>"],
  },
  misses: {
    "other numbers": [
      "<script>var d = new Uint8Array([72, 101, 108, 108, 111]); var b = new Blob([d]); ",
      ...save,
      "</script>",
    ],
    "numbers that are not saved": ["<script>const zip = [80, 75, 3, 4, 20]; detect(zip);</script>"],
  },
});
