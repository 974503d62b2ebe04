/**
 * The SHA-256 of an event id (FIPS 180-4), truncated to 16 bytes. Implemented here because a hash of `node:crypto` is a
 * stream object in workerd and costs more than the SQL of a score. `crypto.subtle` would need an `await` inside a
 * transaction.
 */
export const HASH_BYTES = 16;

const ROUNDS = 64;
const BLOCK_BYTES = 64;

/** The first 32 bits of the fractional part of a prime's root. */
function fractionOf(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
}

const PRIMES: number[] = [];
for (let n = 2; PRIMES.length < ROUNDS; n++) if (PRIMES.every((prime) => n % prime !== 0)) PRIMES.push(n);
const CONSTANTS = Int32Array.from(PRIMES, (prime) => fractionOf(Math.cbrt(prime)));
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fractionOf(Math.sqrt(prime)));

/** Shared buffers: calls are synchronous, so only one uses them at a time. */
const schedule = new Int32Array(ROUNDS);
const state = new Int32Array(8);
/** More than 128 characters of up to four bytes, and the padding after them. */
const text = new Uint8Array(1_024);
const room = text.subarray(0, text.length - 2 * BLOCK_BYTES);
const view = new DataView(text.buffer);
const encoder = new TextEncoder();

export function hashEvent(eventId: string): Uint8Array {
  const { read, written } = encoder.encodeInto(eventId, room);
  if (read < eventId.length) throw new Error('the event id is longer than a hash may be of');
  const length = Math.ceil((written + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  text.fill(0, written, length);
  text[written] = 0x80;
  view.setUint32(length - 4, written * 8);
  state.set(START);
  for (let at = 0; at < length; at += BLOCK_BYTES) addBlock(at);
  const hash = new Uint8Array(HASH_BYTES);
  for (let i = 0; i < HASH_BYTES; i++) hash[i] = (state[i >>> 2] as number) >>> (24 - 8 * (i & 3));
  return hash;
}

const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

function addBlock(at: number): void {
  for (let i = 0; i < 16; i++) schedule[i] = view.getInt32(at + i * 4);
  for (let i = 16; i < ROUNDS; i++) {
    const near = schedule[i - 2] as number;
    const far = schedule[i - 15] as number;
    const s0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
    const s1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
    schedule[i] = (schedule[i - 16] as number) + s0 + (schedule[i - 7] as number) + s1;
  }
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < ROUNDS; i++) {
    const choice = (e & f) ^ (~e & g);
    const sumE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + sumE + choice + (CONSTANTS[i] as number) + (schedule[i] as number)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}
