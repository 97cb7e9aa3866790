import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { atTheEnd, temporaryFolder, watchChild } from "../../test/support/leftovers.ts";
import { until } from "../../test/support/until.ts";
import { log } from "../log.ts";
import { serviceManager } from "./service-manager.ts";

/** What systemd is to a service: a datagram socket. Each message on a line; what waits for an answer is let go. */
const LISTENER = `
use Socket; $| = 1;
socket(my $socket, AF_UNIX, SOCK_DGRAM, 0) or die; bind($socket, sockaddr_un($ARGV[0])) or die; print "listening\\n";
while (defined recv($socket, my $message, 4096, 0)) { $message =~ s/\\n/ /g; print "$message\\n" if $message !~ /^BARRIER/ }
`;

const folder = temporaryFolder();
const socket = join(folder.path, "notify");
let heard: string[] = [];
const listener = spawn("perl", ["-e", LISTENER, socket], { stdio: ["ignore", "pipe", "inherit"] });
if (listener.pid) watchChild(listener.pid);
let text = "";
listener.stdout.setEncoding("utf8").on("data", (part) => {
  text += part;
  heard = text.split("\n").slice(1, -1);
});
before(() => until("it listens", () => text.startsWith("listening")));
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => listener.kill());

const lines: string[] = [];
const logged = log({ level: "info", format: "json", write: (line) => lines.push(line) });

test("systemd hears in order that the service is ready, reloads, is ready again, and stops", async () => {
  const env = { PATH: process.env.PATH, NOTIFY_SOCKET: socket };
  const manager = serviceManager(logged, env);
  assert.equal(env.NOTIFY_SOCKET, undefined, "programs that we start do not speak for us");
  manager.ready("listening on 127.0.0.1:8040");
  manager.reloading();
  manager.reloaded();
  manager.stopping();
  await until("all four are heard", () => heard.length === 4);
  const [ready, reloading = "", again, stopping] = heard;
  assert.equal(ready, "READY=1 STATUS=listening on 127.0.0.1:8040");
  assert.match(reloading, /^RELOADING=1 MONOTONIC_USEC=\d+$/);
  assert.equal(again, "READY=1");
  assert.match(String(stopping), /^STOPPING=1 /);
  assert.deepEqual(lines, []);
});

test("the watchdog hears of a service until it stops, and nothing of one that another was asked to watch", async (t) => {
  const watched = { PATH: process.env.PATH, NOTIFY_SOCKET: socket, WATCHDOG_USEC: "60000" };
  const before = heard.length;
  const other = serviceManager(logged, { ...watched, WATCHDOG_PID: "1" });
  const timers = t.mock.method(globalThis, "setInterval");
  other.watch();
  assert.equal(timers.mock.callCount(), 0, "this is not the process that systemd started");
  timers.mock.restore();
  const manager = serviceManager(logged, { ...watched, WATCHDOG_PID: String(process.pid) });
  manager.watch();
  await until("it says so", () => heard.length >= before + 2);
  manager.stopping();
  await until("it stops", () => heard.at(-1)?.startsWith("STOPPING=1") === true);
  assert.deepEqual(new Set(heard.slice(before, -1)), new Set(["WATCHDOG=1"]));
});

test("a service that nobody started runs no program, and one that cannot be heard says so once", async () => {
  serviceManager(logged, { PATH: "" }).ready("nobody hears it");
  const manager = serviceManager(logged, { PATH: process.env.PATH, NOTIFY_SOCKET: join(folder.path, "nobody") });
  manager.ready("nobody hears it");
  manager.reloaded();
  manager.stopping();
  await until("it is logged", () => lines.length > 0);
  const last = serviceManager(logged, { PATH: process.env.PATH, NOTIFY_SOCKET: socket });
  const before = heard.length;
  last.stopping();
  await until("others are heard", () => heard.length > before);
  assert.match(lines.join(""), /^\{[^\n]*"level":"error","event":"service_manager","error":[^\n]*"hint":[^\n]*\}\n$/);
});
