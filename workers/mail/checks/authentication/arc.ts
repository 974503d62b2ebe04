/**
 * Verifies the Authenticated Received Chain of a message (RFC 8617). It names the hops that forwarded the message, and the
 * authentication results that each recorded.
 */
import type { HeaderField } from '../../mime/mime-tree.ts';
import { unfold } from '../../mime/mime-tree.ts';
import type { ArcVerdict } from '../verdicts.ts';
import { type Canonicalization, toCanonicalField } from './canonical-form.ts';
import { checkSignature, isDomain, readSignatureTags, type SignedMessage } from './dkim.ts';
import { type KeyRing, toUnsignedField, verifySignature } from './signature.ts';
import { parseTagList } from './tag-list.ts';

/** Maximum of ARC sets (RFC 8617 §4.2.1). */
export const ARC_INSTANCES_MAX = 50;

interface ArcSet {
  readonly results: HeaderField;
  readonly signature: HeaderField;
  readonly seal: HeaderField;
}

export async function verifyArc(message: SignedMessage, keys: KeyRing, now: number): Promise<ArcVerdict> {
  const sets = collectSets(message.headers);
  if (sets === null) return noChain('fail', 'the chain has gaps or duplicates');
  const [first, newest] = [sets[0], sets.at(-1)];
  if (first === undefined || newest === undefined) return noChain('none', 'no chain');
  const sealers = sets.map((set) => parseTagList(set.seal.value)?.get('d')?.toLowerCase() ?? '');
  const about = {
    instances: sets.length,
    domain: sealers.at(-1) ?? '',
    results: readResults(newest),
    sealers,
    firstResults: readResults(first),
    isTrusted: false,
  };
  const problem = (await verifyNewestSignature(newest, message, keys, now)) ?? (await verifySeals(sets, keys));
  return { ...about, ...(problem ?? { result: 'pass', reason: '' }) };
}

export const noChain = (result: ArcVerdict['result'], reason: string): ArcVerdict => ({
  ...{ result, instances: 0, domain: '', results: '', sealers: [], firstResults: '', isTrusted: false, reason },
});

const readResults = (set: ArcSet): string =>
  unfold(set.results.value)
    .replace(/^\s*i\s*=\s*\d+\s*;\s*/, '')
    .slice(0, 2_000);

type Problem = Pick<ArcVerdict, 'result' | 'reason'>;
const failed = (reason: string): Problem => ({ result: 'fail', reason });

/** Verifies only the newest message signature, because later hops may have broken older ones. */
async function verifyNewestSignature(
  set: ArcSet,
  message: SignedMessage,
  keys: KeyRing,
  now: number,
): Promise<Problem | null> {
  const tags = readSignatureTags(set.signature.value, { isArc: true });
  if (!tags.ok) return failed(`message signature: ${tags.error.reason}`);
  if (tags.value.names.includes('arc-seal')) return failed('the message signature covers a seal');
  const check = (headerForm: Canonicalization) =>
    checkSignature(set.signature, { ...tags.value, headerForm }, message, keys, now);
  const checked = await check(tags.value.headerForm);
  if (checked.ok) return null;
  // RFC 8617 §4.1.2 takes the simple form of DKIM as the default, but makers of chains sign in relaxed form and may leave `c=` out.
  const isFormGiven = parseTagList(set.signature.value)?.has('c') ?? true;
  if (!isFormGiven && (await check('relaxed')).ok) return null;
  const result = checked.error.result === 'temperror' ? 'temperror' : 'fail';
  return { result, reason: `message signature: ${checked.error.reason}` };
}

/** Verifies all seals. Each seal covers all sets up to its own (§5.1.1), in relaxed form. */
async function verifySeals(sets: readonly ArcSet[], keys: KeyRing): Promise<Problem | null> {
  let sealed = '';
  for (const [index, set] of sets.entries()) {
    const tags = parseTagList(set.seal.value);
    const [domain = '', selector = ''] = [tags?.get('d')?.toLowerCase(), tags?.get('s')];
    if (!tags || !isDomain(domain) || !isDomain(selector)) return failed(`seal ${index + 1} is malformed`);
    if (tags.has('h')) return failed(`seal ${index + 1} lists header fields`);
    if (tags.get('cv')?.toLowerCase() !== (index === 0 ? 'none' : 'pass'))
      return failed(`seal ${index + 1} reports a broken chain`);
    sealed += `${toCanonicalField(set.results.source, 'relaxed')}\r\n${toCanonicalField(set.signature.source, 'relaxed')}\r\n`;
    const key = await keys(domain, selector);
    const verified = key.ok
      ? await verifySignature(
          key.value,
          (tags.get('a') ?? '').toLowerCase(),
          tags.get('b') ?? '',
          sealed + toUnsignedField(set.seal.source, 'relaxed'),
        )
      : key;
    if (!verified.ok) {
      const result = verified.error.result === 'temperror' ? 'temperror' : 'fail';
      return { result, reason: `seal ${index + 1}: ${verified.error.reason}` };
    }
    sealed += `${toCanonicalField(set.seal.source, 'relaxed')}\r\n`;
  }
  return null;
}

/** @returns the ARC sets in order of instance; null when they do not form a chain (§5.2). */
function collectSets(headers: readonly HeaderField[]): ArcSet[] | null {
  const found = new Map<number, Partial<Record<keyof ArcSet, HeaderField>>>();
  const kinds: Readonly<Record<string, keyof ArcSet>> = {
    'arc-authentication-results': 'results',
    'arc-message-signature': 'signature',
    'arc-seal': 'seal',
  };
  for (const field of headers) {
    const kind = kinds[field.name];
    if (kind === undefined) continue;
    const instance = Number(/(?:^|;)\s*i\s*=\s*(\d{1,3})\s*(?:;|$)/.exec(unfold(field.value))?.[1] ?? 0);
    const set = found.get(instance) ?? {};
    if (instance < 1 || instance > ARC_INSTANCES_MAX || set[kind] !== undefined) return null;
    found.set(instance, { ...set, [kind]: field });
  }
  const sets: ArcSet[] = [];
  for (let instance = 1; instance <= found.size; instance += 1) {
    const { results, signature, seal } = found.get(instance) ?? {};
    if (results === undefined || signature === undefined || seal === undefined) return null;
    sets.push({ results, signature, seal });
  }
  return sets;
}
