import assert from "node:assert/strict";
import { test } from "node:test";
import { roomBytes, rooms } from "./rooms.ts";

const KIB = 1024;
const inTime = { keptBytes: 1024 * KIB, idleMs: 1000 };

test("a room has what was asked for, and less than twice as much, but for small files", () => {
  for (let bytes = 1; bytes <= 4096 * KIB; bytes += 4099) {
    const size = roomBytes(bytes);
    assert.equal(rooms(inTime).take(bytes).length, size);
    assert.ok(size >= bytes && (size < 2 * bytes || size === 128 * KIB), `${size} for ${bytes}`);
    assert.equal(roomBytes(size), size);
  }
});

test("room is used again by the next file that has its size, and nobody else has it any more", () => {
  const { take, giveBack } = rooms(inTime);
  const [room, other] = [take(200 * KIB), take(200 * KIB)];
  room.fill(1);
  other.fill(2);
  const [view, content] = [room.subarray(10, 20), room.subarray(0, 200 * KIB)];
  giveBack(content);
  assert.deepEqual([room.length, view.length, content.length], [0, 0, 0]);
  assert.equal(take(600 * KIB).length, 1024 * KIB);
  const again = take(129 * KIB);
  assert.ok(again.length === 256 * KIB && again.every((byte) => byte === 1));
  again.fill(3);
  assert.ok(other.every((byte) => byte === 2));
});

test("what is given back twice is given out once", () => {
  const { take, giveBack } = rooms(inTime);
  const room = take(KIB);
  room.fill(1);
  const view = room.subarray(1);
  for (const each of [room, view, room]) giveBack(each);
  const [first, second] = [take(KIB), take(KIB)];
  first.fill(2);
  second.fill(3);
  assert.equal(first[0], 2);
});

test("no more is kept than was said, and what is no room is freed", () => {
  const { take, giveBack } = rooms(inTime);
  const taken = Array.from({ length: 9 }, () => take(128 * KIB).fill(1));
  for (const room of taken) giveBack(room);
  for (const room of taken) assert.equal(room.length, 0);
  const others = [
    Buffer.allocUnsafeSlow(100 * KIB).fill(1),
    Buffer.allocUnsafeSlow(192 * KIB).fill(1),
    new Uint8Array(),
  ];
  for (const other of others) giveBack(other);
  for (const other of others) assert.equal(other.length, 0);
  const again = Array.from({ length: 9 }, () => take(128 * KIB));
  assert.equal(again.filter((room) => room.every((byte) => byte === 1)).length, 8);
});

test("a part of a room gives all of it back, and of memory of another kind nothing is kept", () => {
  const { take, giveBack } = rooms(inTime);
  giveBack(take(KIB).fill(1).subarray(5, 7));
  assert.equal(take(KIB)[0], 1);
  giveBack(new Uint8Array(new SharedArrayBuffer(128 * KIB)).fill(1));
  assert.equal(take(KIB).length, 128 * KIB);
});

test("a burst of one size does not keep others from being used again", () => {
  for (const [burst, size] of [
    [64, 128],
    [8, 1024],
    [16, 512],
  ] as const) {
    const { take, giveBack } = rooms({ ...inTime, keptBytes: 8192 * KIB });
    const taken = Array.from({ length: burst }, () => take(size * KIB));
    for (const room of taken) giveBack(room);
    for (const other of [1024, 512, 256, 128]) {
      const four = Array.from({ length: 4 }, () => take(other * KIB));
      for (const room of four) giveBack(room.fill(7));
      const again = Array.from({ length: 4 }, () => take(other * KIB));
      assert.ok(again.every((room) => room[0] === 7));
      for (const room of again) giveBack(room.fill(0));
    }
  }
});

test("what nobody has used for a while is freed, and only that", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { take, giveBack } = rooms(inTime);
  const wasUsed = (bytes: number): boolean => {
    const room = take(bytes);
    const was = room[0] === 1;
    giveBack(room.fill(1));
    return was;
  };
  giveBack(take(KIB).fill(1));
  giveBack(take(200 * KIB).fill(1));
  const before = process.memoryUsage().arrayBuffers;
  for (let times = 0; times < 5; times += 1) {
    t.mock.timers.tick(999);
    assert.ok(wasUsed(KIB));
  }
  // The larger one was used once.
  assert.ok(before - process.memoryUsage().arrayBuffers >= 256 * KIB);
  t.mock.timers.tick(2000);
  assert.ok(before - process.memoryUsage().arrayBuffers >= 384 * KIB);
  wasUsed(KIB);
  t.mock.timers.tick(1999);
  assert.ok(wasUsed(KIB));
});
