/** Policy documents of POST form uploads (Amazon S3 API Reference, "POST policy"). */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from './failure.ts';

export interface PostPolicy {
  readonly expirationMs: number;
  readonly conditions: readonly PostCondition[];
}

export type PostCondition =
  | { readonly kind: 'eq' | 'starts-with'; readonly field: string; readonly value: string }
  | { readonly kind: 'content-length-range'; readonly minBytes: number; readonly maxBytes: number };

const invalid = (message: string) => err(s3Failure('InvalidPolicyDocument', `Invalid Policy: ${message}`));

/** Parses the policy of a POST form. @param encoded JSON of the policy in Base64, as in the form. */
export function parsePostPolicy(encoded: string): Result<PostPolicy, S3Failure> {
  let document: unknown;
  try {
    document = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
  } catch {
    return invalid('Invalid JSON.');
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return invalid('Invalid JSON.');
  const { expiration, conditions } = document as Record<string, unknown>;
  if (typeof expiration !== 'string') return invalid('Policy missing expiration.');
  const expirationMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(expiration)
    ? Date.parse(expiration)
    : Number.NaN;
  if (Number.isNaN(expirationMs)) return invalid(`Invalid 'expiration' value: '${expiration}'`);
  if (conditions === undefined) return invalid('Policy missing conditions.');
  if (!Array.isArray(conditions)) return invalid('Invalid conditions.');
  const parsed: PostCondition[] = [];
  for (const condition of conditions) {
    const result = parseCondition(condition);
    if (!result.ok) return result;
    parsed.push(...result.value);
  }
  return ok({ expirationMs, conditions: parsed });
}

function parseCondition(condition: unknown): Result<PostCondition[], S3Failure> {
  if (Array.isArray(condition)) {
    const [operator, first, second] = condition as unknown[];
    if (condition.length !== 3 || typeof operator !== 'string') return invalid('Invalid Condition.');
    const name = operator.toLowerCase();
    if (name === 'content-length-range') {
      const [minBytes, maxBytes] = [toInteger(first), toInteger(second)];
      if (minBytes === null || maxBytes === null) return invalid('Invalid content-length-range.');
      return ok([{ kind: 'content-length-range', minBytes, maxBytes }]);
    }
    if (name !== 'eq' && name !== 'starts-with') return invalid(`Invalid Condition: unknown operation '${operator}'.`);
    if (typeof first !== 'string' || typeof second !== 'string' || !first.startsWith('$')) {
      return invalid('Invalid Condition.');
    }
    return ok([{ kind: name, field: first.slice(1).toLowerCase(), value: second }]);
  }
  if (typeof condition !== 'object' || condition === null) return invalid('Invalid Condition.');
  const entries = Object.entries(condition as Record<string, unknown>);
  if (entries.length !== 1)
    return invalid('Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.');
  return entries.every(([, value]) => typeof value === 'string')
    ? ok(entries.map(([field, value]) => ({ kind: 'eq', field: field.toLowerCase(), value: value as string })))
    : invalid('Invalid Simple-Condition: value must be a string.');
}

function toInteger(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

/** Form fields that a policy does not have to mention (POST policy, "Conditions"). */
const UNCHECKED = [
  'awsaccesskeyid',
  'signature',
  'policy',
  'file',
  'x-amz-signature',
  'x-amz-algorithm',
  'x-amz-credential',
  'x-amz-date',
  'x-amz-security-token',
];

/**
 * Checks that the policy mentions every field, and that the fields meet every condition of the policy.
 * @param fields form fields without the file, with names in lower case and the field `bucket` added.
 */
export function checkPostPolicy(
  policy: PostPolicy,
  fields: ReadonlyMap<string, string>,
  now: number,
): Result<{ readonly minBytes: number; readonly maxBytes: number }, S3Failure> {
  const refused = (message: string) => err(s3Failure('AccessDenied', `Invalid according to Policy: ${message}`));
  if (now >= policy.expirationMs) return refused('Policy expired.');
  let range = { minBytes: 0, maxBytes: Number.POSITIVE_INFINITY };
  const mentioned = new Set<string>();
  for (const condition of policy.conditions) {
    if (condition.kind === 'content-length-range') {
      range = {
        minBytes: Math.max(range.minBytes, condition.minBytes),
        maxBytes: Math.min(range.maxBytes, condition.maxBytes),
      };
      continue;
    }
    mentioned.add(condition.field);
    const value = fields.get(condition.field);
    // A field that was not sent counts as empty text, so `starts-with` matches it only if the prefix is empty.
    const holds =
      condition.kind === 'eq'
        ? value === condition.value
        : startsWithEvery(condition.field, value ?? '', condition.value);
    if (!holds) {
      const text = JSON.stringify([condition.kind, `$${condition.field}`, condition.value]);
      return refused(`Policy Condition failed: ${text}`);
    }
  }
  for (const name of fields.keys()) {
    if (mentioned.has(name) || UNCHECKED.includes(name) || name.startsWith('x-ignore-')) continue;
    // A checksum in the form only restricts the upload further, so the policy does not have to allow it.
    if (name.startsWith('x-amz-checksum-')) continue;
    return refused(`Extra input fields: ${name}`);
  }
  return ok(range);
}

/**
 * Whether a field begins with the value of a condition. A Content-Type may be a list; then each item must begin with it (POST
 * policy, "Condition matching").
 */
function startsWithEvery(field: string, value: string, prefix: string): boolean {
  if (field !== 'content-type') return value.startsWith(prefix);
  return value.split(',').every((item) => item.startsWith(prefix));
}
