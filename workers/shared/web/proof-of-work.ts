/**
 * A proof of work: the challenge of a login where no other can be shown. The page searches a number so that a hash begins with zero
 * bits (the method of hashcash, http://www.hashcash.org/hashcash.pdf). It takes a browser some seconds and the server one hash. It slows
 * guesses and does not stop a strong attacker, so guesses stay limited by place and by the queue of password hashes. Pure.
 */

/** Zero bits at the begin of the hash. A search takes 2^19 hashes on average. */
export const PROOF_BITS = 19;
const TIME_STEP_MS = 60_000;
/** Minutes by which the clocks of client and server may differ. */
const MINUTES_APART_MAX = 10;

/** The minute of a proof: minutes since 1970 UTC. */
export const toProofMinute = (now: number): number => Math.floor(now / TIME_STEP_MS);

/** Text to hash with SHA-256. A proof is `minute.number`. @param subject lower-case address, or `operator ` and the login. */
export const toProofText = (subject: string, proof: string): string => `tessera login\n${subject}\n${proof}`;

export function hasProofBits(hash: Uint8Array): boolean {
  let bits = 0;
  for (const byte of hash) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24 >= PROOF_BITS;
    bits += 8;
  }
  return true;
}

/** Whether a proof was made about now. */
export function isProofTimely(proof: string, now: number): boolean {
  const minute = /^(\d{1,10})\.\d{1,12}$/.exec(proof)?.[1];
  return minute !== undefined && Math.abs(Number(minute) - toProofMinute(now)) <= MINUTES_APART_MAX;
}
