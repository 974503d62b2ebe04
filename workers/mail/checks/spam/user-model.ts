/**
 * A user's own training: corrections of the shipped model, by bucket. Marking a message changes the corrections of its words just
 * enough that this message and similar ones get the wanted verdict. Marking it the other way changes them back.
 */
import { isTrainable, type SpamCorrections, type SpamModel, scoreCorrections, scoreTokens } from './classifier.ts';
import { BUCKET_COUNT, bucketOf } from './tokens.ts';

/** Maximum of corrections. If there are more, the smallest are dropped. A mailbox stores at most 20,000 × 6 bytes. */
export const CORRECTIONS_MAX = 20_000;
/** Score, in log-odds on the wanted side of zero, that a marked message must reach by training. */
const MARGIN = 2;
const STEP = 0.5;
const STEPS_MAX = 24;
/** Step of a correction, which is stored as a 16-bit number of steps. */
const UNIT = 1 / 2048;
const FORMAT = 1;
const ENTRY_BYTES = 6;

/** Reads a stored user model. @returns no corrections for null, or for bytes that are not such a model. */
export function readCorrections(bytes: Uint8Array | null | undefined): Map<number, number> {
  const corrections = new Map<number, number>();
  if (!bytes || bytes.length < 1 || bytes[0] !== FORMAT) return corrections;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 1; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
    const bucket = view.getUint32(at);
    if (bucket < BUCKET_COUNT) corrections.set(bucket, view.getInt16(at + 4) * UNIT);
  }
  return corrections;
}

export function writeCorrections(corrections: SpamCorrections): Uint8Array {
  const rounded = [...corrections]
    .map(([bucket, weight]) => ({ bucket, units: Math.max(-32_768, Math.min(32_767, Math.round(weight / UNIT))) }))
    .filter(({ units }) => units !== 0);
  if (rounded.length > CORRECTIONS_MAX) {
    rounded.sort((left, right) => Math.abs(right.units) - Math.abs(left.units));
    rounded.length = CORRECTIONS_MAX;
  }
  const bytes = new Uint8Array(1 + rounded.length * ENTRY_BYTES);
  const view = new DataView(bytes.buffer);
  bytes[0] = FORMAT;
  for (const [index, { bucket, units }] of rounded.entries()) {
    view.setUint32(1 + index * ENTRY_BYTES, bucket);
    view.setInt16(1 + index * ENTRY_BYTES + 4, units);
  }
  return bytes;
}

/** Changes the corrections until the message scores beyond the margin on the wanted side, or a maximum of steps is reached. */
export function correct(
  corrections: Map<number, number>,
  tokens: Uint32Array,
  label: 'junk' | 'ham',
  model: SpamModel,
): void {
  const buckets = [...tokens].filter((token) => isTrainable(token, model)).map(bucketOf);
  if (buckets.length === 0) return;
  const base = scoreTokens(tokens, model);
  const sign = label === 'junk' ? 1 : -1;
  const step = (sign * STEP) / Math.sqrt(buckets.length);
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    if ((base + scoreCorrections(tokens, corrections, model)) * sign >= MARGIN) return;
    for (const bucket of buckets) corrections.set(bucket, (corrections.get(bucket) ?? 0) + step);
  }
}
