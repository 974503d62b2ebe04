/** Searches a proof of work for a login. The browser's own hashes run in batches, so the page stays usable meanwhile. */
import { hasProofBits, toProofMinute, toProofText } from '../../workers/shared/web/proof-of-work.ts';

const HASHES_PER_BATCH = 2_000;

/** @param subject lower-case address, or `operator ` and the login. */
export async function findProof(subject: string): Promise<string> {
  const encoder = new TextEncoder();
  const minute = toProofMinute(Date.now());
  for (let first = 0; ; first += HASHES_PER_BATCH) {
    const proofs = Array.from({ length: HASHES_PER_BATCH }, (_, at) => `${minute}.${first + at}`);
    const hashes = await Promise.all(
      proofs.map((proof) => crypto.subtle.digest('SHA-256', encoder.encode(toProofText(subject, proof)))),
    );
    const found = proofs[hashes.findIndex((hash) => hasProofBits(new Uint8Array(hash)))];
    if (found !== undefined) return found;
  }
}
