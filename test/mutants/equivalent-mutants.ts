/** Mutants that no test can kill, because they do not change what the code does. `npm run test:mutants` compares survivors with this list. */

export interface EquivalentMutant {
  readonly file: string;
  /** Part of the line where the mutant begins. */
  readonly line: string;
  /** The source that is replaced, on one line. */
  readonly from: string;
  /** The replacements that change nothing. */
  readonly to: readonly string[];
  readonly reason: string;
}

const IDENTITY = 'workers/identity/domain';
const STORAGE = 'workers/object-storage/domain';
const SIGN_ONLY = 'A sort looks at the sign of a comparison only.';
const NEVER_NULL_ID = 'The other side is always a string, so null never equals it. The check is for readers.';
const TABLE_END = 'A typed array does not store beyond its end, and what is longer than needed is not read.';
const SLOW_PATH = 'The loop over single bytes gives the same result, more slowly.';
const SCALED = 'Every power is scaled alike and the product divides by the scale again, so results are the same.';
const SHORT_KEY = 'A shortcut: the bytes are counted after it anyway.';

export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [
  {
    file: `${IDENTITY}/policy-conditions.ts`,
    line: 'const operator = Object.keys(OPERATORS)',
    from: 'match?.[2]?.toLowerCase',
    to: ['match?.[2].toLowerCase'],
    reason: 'Group 2 always takes part in a match. The type of a match does not say so.',
  },
  {
    file: `${IDENTITY}/policy-patterns.ts`,
    line: 'let star = -1',
    from: '1',
    to: ['2'],
    reason: 'Any negative number means that there was no star.',
  },
  {
    file: `${IDENTITY}/policy-patterns.ts`,
    line: 'let resume = 0',
    from: '0',
    to: ['1', '-1'],
    reason: 'The value is set together with star before it is read.',
  },
  {
    file: `${IDENTITY}/policy-patterns.ts`,
    line: 'p = star + 1',
    from: '1',
    to: ['0'],
    reason: 'The next step meets the same star again and sets the same state.',
  },
  {
    file: `${IDENTITY}/policy.ts`,
    line: 'if (resources) {',
    from: 'resources',
    to: ['true'],
    reason: 'parsePolicy rejects statements without Resource and NotResource.',
  },
  {
    file: `${IDENTITY}/policy.ts`,
    line: "text !== '*' && toPrincipalUserId",
    from: "text !== '*'",
    to: ['true'],
    reason: 'toPrincipalUserId gives the star itself, which is not null.',
  },
  {
    file: `${IDENTITY}/sigv4-credentials.ts`,
    line: 'if (at > 0) fields.set',
    from: 'at > 0',
    to: ['at >= 0'],
    reason: 'A field with an empty name is never read.',
  },
  {
    file: `${IDENTITY}/sigv4-credentials.ts`,
    line: 'if (at > 0) fields.set',
    from: '0',
    to: ['1', '-1'],
    reason: 'Fields with names of no or one character are never read.',
  },
  {
    file: `${IDENTITY}/sigv4-credentials.ts`,
    line: 'if (text === null) return err(missing)',
    from: 'text === null',
    to: ['false'],
    reason: 'null is no date either, so the same error follows. The check narrows the type.',
  },
  {
    file: `${IDENTITY}/sigv4.ts`,
    line: "if (rawQuery === '') return ''",
    from: "rawQuery === ''",
    to: ['false'],
    reason: 'A shortcut: an empty query has one empty part, which is left out.',
  },
  {
    file: `${IDENTITY}/sigv4.ts`,
    line: 'a < b ? -1 : a > b ? 1 : 0',
    from: '1',
    to: ['2'],
    reason: SIGN_ONLY,
  },
  {
    file: `${STORAGE}/access.ts`,
    line: 'const isOwner',
    from: 'userId !== null',
    to: ['true'],
    reason: NEVER_NULL_ID,
  },
  {
    file: `${STORAGE}/access.ts`,
    line: 'userId === (isEnforced',
    from: 'userId !== null',
    to: ['true'],
    reason: NEVER_NULL_ID,
  },
  {
    file: `${STORAGE}/acl.ts`,
    line: 'userId === acl.owner.id',
    from: 'userId !== null',
    to: ['true'],
    reason: NEVER_NULL_ID,
  },
  {
    file: `${STORAGE}/acl.ts`,
    line: 'grant.grantee.id === userId',
    from: 'userId !== null',
    to: ['true'],
    reason: NEVER_NULL_ID,
  },
  {
    file: `${STORAGE}/acl.ts`,
    line: "grantee.kind === 'group' && (grantee.uri",
    from: "grantee.kind === 'group'",
    to: ['true'],
    reason: 'A user has no URI, so no group is equal to it. The check narrows the type.',
  },
  {
    file: `${STORAGE}/aws-chunked.ts`,
    line: 'let remaining = 0',
    from: '0',
    to: ['1', '-1'],
    reason: 'The first chunk header sets it before it is read.',
  },
  {
    file: `${STORAGE}/aws-chunked.ts`,
    line: 'Number.parseInt(match[1]',
    from: '1',
    to: ['0'],
    reason: 'parseInt stops at the semicolon that follows the size.',
  },
  {
    file: `${STORAGE}/aws-chunked.ts`,
    line: 'signatures === null || hash === null',
    from: 'signatures === null || hash === null',
    to: ['signatures === null && hash === null'],
    reason: 'Both are null, or neither is when a chunk ends.',
  },
  {
    file: `${STORAGE}/aws-chunked.ts`,
    line: 'signatures === null || hash === null',
    from: 'signatures === null',
    to: ['false'],
    reason: 'Both are null, or neither is when a chunk ends.',
  },
  {
    file: `${STORAGE}/aws-chunked.ts`,
    line: 'signatures === null || hash === null',
    from: 'hash === null',
    to: ['false'],
    reason: 'Both are null, or neither is when a chunk ends.',
  },
  {
    file: `${STORAGE}/conditions.ts`,
    line: 'if (httpDate === null) return null',
    from: 'httpDate === null',
    to: ['false'],
    reason: 'null is no date either, so the same answer follows. The check narrows the type.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'new Int32Array(8 * 256)',
    from: '8',
    to: ['9'],
    reason: TABLE_END,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'new Int32Array(8 * 256)',
    from: '256',
    to: ['257'],
    reason: TABLE_END,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (let byte = 0; byte < 256; byte++)',
    from: '0',
    to: ['1', '-1'],
    reason: 'The entry of byte 0 is 0, as it was before; a negative index is not stored.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (let byte = 0; byte < 256; byte++)',
    from: 'byte < 256',
    to: ['byte <= 256'],
    reason: 'The second loop overwrites entry 256.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (let byte = 0; byte < 256; byte++)',
    from: '256',
    to: ['257'],
    reason: 'The second loop overwrites entry 256.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (let i = 256; i < 8 * 256; i++)',
    from: '256',
    to: ['257'],
    reason: TABLE_END,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (let i = 256; i < 8 * 256; i++)',
    from: 'i < 8 * 256',
    to: ['i <= 8 * 256'],
    reason: TABLE_END,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (let i = 256; i < 8 * 256; i++)',
    from: '8',
    to: ['9'],
    reason: TABLE_END,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'const end = bytes.length - (bytes.length % 8)',
    from: 'bytes.length % 8',
    to: ['bytes.length * 8'],
    reason: SLOW_PATH,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'for (; i < end; i += 8)',
    from: 'i < end',
    to: ['false'],
    reason: SLOW_PATH,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'const one = 1n << BigInt(bits - 1)',
    from: 'bits - 1',
    to: ['bits + 1'],
    reason: SCALED,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'const one = 1n << BigInt(bits - 1)',
    from: '1',
    to: ['0'],
    reason: SCALED,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'bits: 32',
    from: '32',
    to: ['33'],
    reason: SCALED,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'bits: 64',
    from: '64',
    to: ['65'],
    reason: SCALED,
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'if (known !== undefined) return known',
    from: 'known !== undefined',
    to: ['false'],
    reason: 'The map only saves time.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'powers.set(byteCount, result)',
    from: 'powers.set(byteCount, result);',
    to: [';'],
    reason: 'The map only saves time.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'secondLength === 0 ? first',
    from: 'secondLength === 0',
    to: ['false'],
    reason: 'A shortcut: the check of no bytes is 0, and the power of 0 bytes is one.',
  },
  {
    file: `${STORAGE}/crc.ts`,
    line: 'secondLength === 0 ? first',
    from: '0',
    to: ['-1'],
    reason: 'A shortcut: the check of no bytes is 0, and the power of 0 bytes is one.',
  },
  {
    file: `${STORAGE}/name-order.ts`,
    line: 'character.codePointAt(0) ?? 0',
    from: '0',
    to: ['1', '-1'],
    reason: 'A character has a code point. The default is for its type.',
  },
  {
    file: `${STORAGE}/name-order.ts`,
    line: 'const last = points.pop() ?? 0',
    from: '0',
    to: ['1', '-1'],
    reason: 'The list is not empty here. The default is for its type.',
  },
  {
    file: `${STORAGE}/name-order.ts`,
    line: 'return isLeftSurrogate ? 1 : -1',
    from: '1',
    to: ['2'],
    reason: SIGN_ONLY,
  },
  {
    file: `${STORAGE}/naming.ts`,
    line: 'key.length * 3 > KEY_BYTES_MAX',
    from: 'key.length * 3 > KEY_BYTES_MAX',
    to: ['true', 'key.length * 3 >= KEY_BYTES_MAX'],
    reason: SHORT_KEY,
  },
  {
    file: `${STORAGE}/naming.ts`,
    line: 'key.length * 3 > KEY_BYTES_MAX',
    from: '3',
    to: ['4'],
    reason: SHORT_KEY,
  },
  {
    file: `${STORAGE}/post-policy.ts`,
    line: "return typeof number === 'number'",
    from: "typeof number === 'number'",
    to: ['true'],
    reason: 'Number.isSafeInteger is false for all that is not a number. The check narrows the type.',
  },
  {
    file: `${STORAGE}/tagging.ts`,
    line: 'const value = decodeUri(',
    from: 'at < 0',
    to: ['at <= 0'],
    reason: 'A part that begins with = has an empty key and is rejected whatever its value.',
  },
  {
    file: `${STORAGE}/tagging.ts`,
    line: 'const value = decodeUri(',
    from: '0',
    to: ['1'],
    reason: 'A part that begins with = has an empty key and is rejected whatever its value.',
  },
  {
    file: `${STORAGE}/version-order.ts`,
    line: '(15 - Number.parseInt(digit, 16)).toString(16)',
    from: '16',
    to: ['17'],
    reason: 'A single digit up to f is the same number in base 17.',
  },
  {
    file: `${STORAGE}/volume.ts`,
    line: 'bytes.length < VOLUME_FOOTER_BYTES',
    from: 'bytes.length < VOLUME_FOOTER_BYTES',
    to: ['bytes.length <= VOLUME_FOOTER_BYTES'],
    reason: 'An index has at least one byte, so a footer alone is rejected by its lengths.',
  },
];
