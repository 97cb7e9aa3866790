import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import { type KeyRing, keyRing } from "./key-ring.ts";
import { pemBlocks } from "./public-key.ts";

interface KeyPair {
  pem: string;
  privateKey: KeyObject;
}

function newPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { pem: publicKey.export({ type: "spki", format: "pem" }).toString(), privateKey };
}

const [first, second] = [newPair(), newPair()];
const message = new TextEncoder().encode("signed");
const isOf = (ring: KeyRing, { privateKey }: KeyPair): Promise<boolean> =>
  ring.fits(new Uint8Array(sign("sha256", message, privateKey)), message);

/** A place that shows what it is told to, and a clock. */
function keyServer(shown: string): {
  ring(given?: string): KeyRing;
  shown: string;
  status: number;
  fetches: number;
  time: number;
} {
  const place = {
    shown,
    status: 200,
    fetches: 0,
    time: 0,
    ring: (given?: string): KeyRing =>
      keyRing({
        given: given === undefined ? [] : pemBlocks(given),
        keyUrl: "https://lazaret.example.com/key.pem",
        now: () => place.time,
        fetch: async () => {
          place.fetches += 1;
          return new Response(place.shown, { status: place.status });
        },
      }),
  };
  return place;
}

test("the key is fetched when it is first needed, once for all callbacks that wait for it, and kept", async () => {
  const place = keyServer(first.pem);
  const ring = place.ring();
  assert.equal(place.fetches, 0);
  assert.deepEqual(await Promise.all([isOf(ring, first), isOf(ring, first), isOf(ring, first)]), [true, true, true]);
  assert.equal(place.fetches, 1);
  place.time += 59 * 60 * 1000;
  assert.equal(await isOf(ring, first), true);
  assert.equal(place.fetches, 1);
});

test("after a change of keys the new one is fetched by the first callback that needs it", async () => {
  const place = keyServer(first.pem);
  const ring = place.ring();
  assert.equal(await isOf(ring, first), true);
  place.shown = second.pem;
  place.time += 10_000;
  assert.equal(await isOf(ring, second), true);
  assert.equal(await isOf(ring, first), false);
  assert.equal(place.fetches, 2);
});

test("signatures of nobody do not make it fetch more than once in ten seconds", async () => {
  const place = keyServer(first.pem);
  const ring = place.ring();
  for (let each = 0; each < 20; each++) assert.equal(await isOf(ring, second), false);
  assert.equal(place.fetches, 1);
  place.time += 10_000;
  for (let each = 0; each < 20; each++) assert.equal(await isOf(ring, second), false);
  assert.equal(place.fetches, 2);
});

test("a key that is not shown any more is forgotten after an hour", async () => {
  const place = keyServer(first.pem);
  const ring = place.ring();
  assert.equal(await isOf(ring, first), true);
  place.shown = second.pem;
  place.time += 60 * 60 * 1000;
  assert.equal(await isOf(ring, first), false);
});

test("keys that cannot be fetched are no bad signature, and are asked for again by the next callback", async () => {
  const place = keyServer(first.pem);
  place.status = 404;
  const ring = place.ring();
  await assert.rejects(isOf(ring, first), /cannot fetch the public key .* from .*key\.pem: answered 404/);
  place.status = 200;
  place.shown = "not a key";
  await assert.rejects(isOf(ring, first), /no PEM block/);
  place.shown = "x".repeat(100_000);
  await assert.rejects(isOf(ring, first), /more than 65536 bytes/);
  place.shown = first.pem;
  assert.equal(await isOf(ring, first), true);
});

test("a key that was given needs nothing fetched", async () => {
  const place = keyServer(second.pem);
  const ring = place.ring(first.pem);
  assert.equal(await isOf(ring, first), true);
  assert.equal(place.fetches, 0);
  assert.equal(await isOf(ring, second), true);
  assert.equal(place.fetches, 1);
});
