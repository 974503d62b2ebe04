/** Checks a bucket policy with the rules of the server while it is written, and tries it on an example. Pure. */
import {
  evaluatePolicies,
  findConditionKeyFault,
  isPublicPolicy,
  type Policy,
  type PolicyDecision,
  parsePolicy,
} from '../../workers/identity/domain/policy.ts';
import { fill, language } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';

const t = storageTexts.settings;

export interface PolicyCheck {
  /** The parsed policy; null if the text is not a valid policy. */
  policy: Policy | null;
  problem: string | null;
  isPublic: boolean;
}

const toProblem = (problem: string): PolicyCheck => ({ policy: null, problem, isPublic: false });

export function checkPolicy(text: string, bucket: string): PolicyCheck {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return toProblem(fill(t.notJson, { detail: language === 'en' ? (error as Error).message : '' }));
  }
  const parsed = parsePolicy(document, 'bucket');
  if (!parsed.ok) return toProblem(parsed.error);
  const fault = findConditionKeyFault(parsed.value) ?? findForeignResource(parsed.value, bucket);
  if (fault !== null) return toProblem(fault);
  return { policy: parsed.value, problem: null, isPublic: isPublicPolicy(parsed.value) };
}

function findForeignResource({ statements }: Policy, bucket: string): string | null {
  const arn = `arn:aws:s3:::${bucket}`;
  const patterns = statements.flatMap(({ resources }) => resources?.patterns ?? []);
  const foreign = patterns.find((pattern) => pattern !== '*' && pattern !== arn && !/^arn:aws:s3:::/.test(pattern));
  const other = foreign ?? patterns.find((pattern) => isOfOther(pattern, arn));
  return other === undefined ? null : fill(t.wrongResource, { resource: other });
}

/**
 * Whether a resource pattern names another bucket. Patterns with wildcards or variables in the bucket's name may match, so they do
 * not count.
 */
const isOfOther = (pattern: string, arn: string): boolean =>
  pattern !== '*' && !/[*?$]/.test(pattern.split('/')[0] ?? '') && pattern !== arn && !pattern.startsWith(`${arn}/`);

/** Actions that the user can try on the policy, and whether each acts on an object instead of the bucket. */
export const ACTIONS: readonly (readonly [action: string, isOnObject: boolean])[] = [
  ['s3:GetObject', true],
  ['s3:PutObject', true],
  ['s3:DeleteObject', true],
  ['s3:ListBucket', false],
  ['s3:GetBucketLocation', false],
];

export interface Attempt {
  /** User id of the caller; null for a caller without a key. */
  userId: string | null;
  action: string;
  name: string;
}

export function tryPolicy(policy: Policy, bucket: string, { userId, action, name }: Attempt): PolicyDecision {
  const isOnObject = ACTIONS.some(([one, isOn]) => one === action && isOn);
  const resource = `arn:aws:s3:::${bucket}${isOnObject ? `/${name}` : ''}`;
  const context = { 'aws:securetransport': String(location.protocol === 'https:') };
  return evaluatePolicies([policy], { action, resource, userId, context });
}

type Template = 'templateRead' | 'templateUser' | 'templateHttps';
export const TEMPLATES: readonly Template[] = ['templateRead', 'templateUser', 'templateHttps'];

export function templateOf(name: Template, bucket: string): string {
  const arn = `arn:aws:s3:::${bucket}`;
  const statement = {
    templateRead: {
      Sid: 'AnyoneMayRead',
      Effect: 'Allow',
      Principal: '*',
      Action: 's3:GetObject',
      Resource: `${arn}/*`,
    },
    templateUser: {
      Sid: 'UserMayRead',
      Effect: 'Allow',
      Principal: { AWS: 'USER_ID' },
      Action: ['s3:GetObject', 's3:ListBucket'],
      Resource: [arn, `${arn}/*`],
    },
    templateHttps: {
      Sid: 'OnlyOverHttps',
      Effect: 'Deny',
      Principal: '*',
      Action: 's3:*',
      Resource: [arn, `${arn}/*`],
      Condition: { Bool: { 'aws:SecureTransport': 'false' } },
    },
  }[name];
  return JSON.stringify({ Version: '2012-10-17', Statement: [statement] }, null, 2);
}
