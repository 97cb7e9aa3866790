import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { until } from "../../test/support/until.ts";
import { frontDoors, type Taker } from "./front-doors.ts";

const place = { host: "127.0.0.1", port: 0, name: "LAZARET_PORT" };

/** Keeps what it is handed, and answers when it is told to. */
function slowTaker(): Taker & { handed: Socket[]; take(): void; die(): void } {
  const handed: Socket[] = [];
  let open = Promise.withResolvers<void>();
  return {
    handed,
    hand(_name, socket) {
      handed.push(socket);
      return open.promise;
    },
    take() {
      open.resolve();
    },
    die() {
      open.reject(new Error("gone"));
      open = Promise.withResolvers();
      open.reject(new Error("gone"));
      open.promise.catch(() => {});
    },
  };
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => {});
  return socket;
}

async function refuses(port: number): Promise<boolean> {
  const tried = connected(port).then((socket) => socket.destroy());
  return await tried.then(
    () => false,
    () => true,
  );
}

test("a process that hangs holds up one connection, and what it was handed goes to another when it dies", async () => {
  using doors = frontDoors();
  const [hanging, other] = [slowTaker(), slowTaker()];
  const port = await doors.open(place, hanging);
  assert.equal(await doors.open(place, other), port);
  other.take();
  const sockets = await Promise.all(Array.from({ length: 5 }, () => connected(port)));
  await until("the other has all but one", () => other.handed.length === 4);
  assert.equal(hanging.handed.length, 1);
  hanging.die();
  doors.gone(hanging);
  await until("the other has all", () => other.handed.length === 5);
  for (const socket of sockets) socket.destroy();
});

test("at a stop nobody can connect any more before the processes have all that was accepted", async () => {
  using doors = frontDoors();
  const [first, second] = [slowTaker(), slowTaker()];
  const port = await doors.open(place, first);
  await doors.open(place, second);
  const sockets = await Promise.all(Array.from({ length: 6 }, () => connected(port)));
  await until("each has one", () => first.handed.length + second.handed.length === 2);
  doors.stop();
  let left = 0;
  const leaving = [first, second].map((taker) => doors.leave(place.name, taker).then(() => (left += 1)));
  await until("nobody listens", () => refuses(port));
  assert.equal(left, 0);
  first.take();
  second.take();
  await Promise.all(leaving);
  assert.ok(first.handed.length + second.handed.length >= 6);
  for (const socket of sockets) socket.destroy();
});
