/** Time-based one-time passwords (RFC 6238 with its defaults: SHA-1, 6 digits, 30 seconds) and recovery codes. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { equalInConstantTime } from '../../shared/pure/constant-time.ts';

const STEP_SECONDS = 30;
const DIGITS = 6;
/** Number of 30-second steps by which a device's clock may be ahead or behind (RFC 6238 §5.2). */
const STEPS_OFF_MAX = 1;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const RECOVERY_CODES = 10;

/** Creates a seed: 160 random bits in Base32, the form that authenticator apps accept. */
export function mintSeed(): string {
  let bits = 0n;
  for (const byte of randomBytes(20)) bits = (bits << 8n) | BigInt(byte);
  return Array.from({ length: 32 }, (_, n) => BASE32[Number((bits >> BigInt(155 - 5 * n)) & 31n)]).join('');
}

function decodeSeed(seed: string): Buffer {
  let bits = 0n;
  for (const character of seed) bits = (bits << 5n) | BigInt(BASE32.indexOf(character));
  return Buffer.from(bits.toString(16).padStart(40, '0'), 'hex');
}

/** Computes the code of a time step (RFC 4226 §5.3). */
export function toCode(seed: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', decodeSeed(seed)).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** Finds the time step of a code. @returns null if the code is that of no accepted step. */
export function findStep(seed: string, code: string, now: number): number | null {
  const current = Math.floor(now / 1000 / STEP_SECONDS);
  let found: number | null = null;
  for (let step = current - STEPS_OFF_MAX; step <= current + STEPS_OFF_MAX; step += 1) {
    if (equalInConstantTime(toCode(seed, step), code)) found = step;
  }
  return found;
}

/** The URL for an authenticator app, shown as a QR code. */
export const toOtpAuthUrl = (seed: string, email: string): string =>
  `otpauth://totp/Tessera:${encodeURIComponent(email)}?secret=${seed}&issuer=Tessera`;

/** Creates ten recovery codes of 50 bits each, written in two groups. */
export const mintRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () => {
    const text = [...randomBytes(10)]
      .map((byte) => BASE32[byte & 31])
      .join('')
      .toLowerCase();
    return `${text.slice(0, 5)}-${text.slice(5)}`;
  });

export const hashRecoveryCode = (code: string): string =>
  createHash('sha256')
    .update(code.toLowerCase().replace(/[^a-z2-7]/g, ''))
    .digest('hex');
