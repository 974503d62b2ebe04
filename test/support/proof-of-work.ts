/** Solves the proof of work of a login, from its description in the API document, independently of the code under test. */
import { hash } from 'node:crypto';

const BITS = 19;

/** @param subject lower-case address, or `operator ` and the login. @returns a proof that is valid now. */
export function solveProof(subject: string, now = Date.now()): string {
  const minute = Math.floor(now / 60_000);
  for (let number = 0; ; number += 1) {
    const proof = `${minute}.${number}`;
    const digest = hash('sha256', `tessera login\n${subject}\n${proof}`, 'buffer');
    if (digest.readUInt32BE() >>> (32 - BITS) === 0) return proof;
  }
}
