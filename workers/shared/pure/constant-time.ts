import { timingSafeEqual } from 'node:crypto';

/** Compares two secrets in a time that depends only on their lengths. */
export function equalInConstantTime(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const left = Buffer.from(a as string);
  const right = Buffer.from(b as string);
  if (left.length !== right.length) {
    timingSafeEqual(left, left);
    return false;
  }
  return timingSafeEqual(left, right);
}
