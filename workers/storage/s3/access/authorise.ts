/** Collects the facts for the access decision of `domain/access.ts`. */
import {
  evaluatePolicies,
  isPublicPolicy,
  type Policy,
  parseAmzDate,
  parsePolicy,
  type UserPrincipal,
} from '../../../identity/index.ts';
import { decideAccess } from '../../domain/access.ts';
import type { StoredVersion } from '../../engine/model/contract.ts';
import { readAcl } from '../documents/acl-document.ts';
import { parseLimit } from '../protocol/list-limit.ts';
import type { AccessNeed, Caller } from '../protocol/operation.ts';
import type { S3Request } from '../protocol/request.ts';
import { aclOf, ownershipOf, policyOf, publicAccessBlockOf } from './bucket-configuration.ts';

type Context = Record<string, string | readonly string[] | undefined>;

/** Whether the caller may perform an action on a bucket or object. @param now milliseconds since 1970 UTC. */
export function mayAccess(need: AccessNeed, request: S3Request, now: number): boolean {
  const { bucket, caller } = need;
  const userId = caller.principal?.userId ?? null;
  const action = `s3:${need.action}`;
  const resource = `arn:aws:s3:::${bucket.name}${need.key === null ? '' : `/${need.key}`}`;
  const toContext = () => ({
    ...toConditionContext(request, caller, now, bucket.ownerId),
    ...toTagContext(need.version),
    's3:max-keys': readMaxKeys(need, request),
    ...need.context,
  });
  const policy = policyOf(bucket);
  // Most callers have no policy, and the context has some forty keys.
  const ask = (policies: readonly Policy[]) =>
    policies.length === 0 ? 'none' : evaluatePolicies(policies, { action, resource, userId, context: toContext() });
  if (!isWithinScopes(caller.principal, need.action, bucket.name)) return false;
  if (!isWithinSession(caller.principal, ask)) return false;
  return decideAccess({
    action: need.action,
    userId,
    identity: decideIdentity(caller.principal, ask),
    bucketPolicy: policy ? ask([policy]) : 'none',
    isPolicyPublic: policy !== null && isPublicPolicy(policy),
    bucketOwnerId: bucket.ownerId,
    publicAccessBlock: publicAccessBlockOf(bucket),
    ownership: ownershipOf(bucket),
    acl: need.acl && {
      acl: need.acl.of === 'object' && need.version ? aclOfVersion(need.version, bucket.ownerId) : aclOf(bucket),
      permission: need.acl.permission,
    },
  });
}

/** Decides operations outside any bucket: creating a bucket and listing the caller's own buckets. */
export function mayUseService(
  action: string,
  resource: string,
  caller: Caller,
  request: S3Request,
  now: number,
): boolean {
  if (caller.principal === null || !isWithinScopes(caller.principal, action, null)) return false;
  const context = toConditionContext(request, caller, now, caller.principal.userId);
  const userId = caller.principal.userId;
  const ask = (policies: readonly Policy[]) =>
    evaluatePolicies(policies, { action: `s3:${action}`, resource, userId, context });
  if (!isWithinSession(caller.principal, ask)) return false;
  const verdict = decideIdentity(caller.principal, ask);
  return verdict === 'allow' || verdict === 'unlimited';
}

export function aclOfVersion(version: Pick<StoredVersion, 'acl' | 'metadata'>, bucketOwnerId: string) {
  const name = version.metadata.extra?.ownerName;
  return readAcl(version.acl, {
    id: version.metadata.ownerId ?? bucketOwnerId,
    displayName: typeof name === 'string' ? name : null,
  });
}

function decideIdentity(
  principal: UserPrincipal | null,
  ask: (policies: readonly Policy[]) => 'allow' | 'deny' | 'none',
) {
  if (principal === null) return 'unlimited';
  const policies: Policy[] = [];
  for (const document of principal.policies) {
    const policy = parsePolicy(document, 'identity');
    // A policy that cannot be parsed might contain a Deny, so it counts as one.
    if (!policy.ok) return 'deny';
    policies.push(policy.value);
  }
  const verdict = ask(policies);
  const isLimited = policies.some((policy) => policy.statements.some((statement) => statement.effect === 'Allow'));
  return verdict === 'none' && !isLimited ? 'unlimited' : verdict;
}

/** Whether the session policy of a temporary key allows the action. Other credentials have none. */
function isWithinSession(
  principal: UserPrincipal | null,
  ask: (policies: readonly Policy[]) => 'allow' | 'deny' | 'none',
): boolean {
  if (!principal?.sessionPolicy) return true;
  const policy = parsePolicy(principal.sessionPolicy, 'identity');
  return policy.ok && ask([policy.value]) === 'allow';
}

/**
 * Whether the scopes of a token cover the action. A token may do what both its scopes and its user's rights allow.
 * @param bucket name of the bucket; null outside any bucket.
 */
function isWithinScopes(principal: UserPrincipal | null, action: string, bucket: string | null): boolean {
  if (!principal?.scopes) return true;
  const right = /^(Get|List|Head)/.test(action) ? 'read' : 'write';
  if (principal.scopes.includes(`objects:${right}`)) return true;
  return bucket !== null && principal.scopes.includes(`bucket:${bucket}:${right}`);
}

/**
 * Values of the condition keys that every request has (IAM "Global condition keys", S3 "Condition keys"). Names are in lower case.
 * `workers/identity/domain/condition-keys.ts` lists the keys too.
 */
function toConditionContext(request: S3Request, caller: Caller, now: number, resourceAccount: string): Context {
  const { headers, query } = request;
  const header = (name: string) => headers.get(name) ?? undefined;
  const principal = caller.principal;
  const context: Context = {
    'aws:currenttime': new Date(now).toISOString(),
    'aws:epochtime': String(Math.floor(now / 1000)),
    'aws:securetransport': String(request.isSecure),
    'aws:sourceip': header('cf-connecting-ip') ?? (request.isSecure ? undefined : '127.0.0.1'),
    'aws:useragent': header('user-agent'),
    'aws:referer': header('referer'),
    'aws:principaltype': principal ? 'User' : 'Anonymous',
    'aws:userid': principal?.userId ?? 'anonymous',
    'aws:username': principal?.userName,
    'aws:principalaccount': principal?.userId,
    'aws:principalisawsservice': 'false',
    'aws:viaawsservice': 'false',
    'aws:resourceaccount': resourceAccount,
    's3:resourceaccount': resourceAccount,
    'aws:principalarn': principal ? `arn:aws:iam::${principal.userId}:root` : undefined,
    's3:authtype':
      caller.via === 'header'
        ? 'REST-HEADER'
        : caller.via === 'query'
          ? 'REST-QUERY-STRING'
          : caller.via === 'form'
            ? 'POST'
            : undefined,
    's3:signatureversion': caller.signature ?? undefined,
    's3:signatureage': readSignatureAge(request, caller, now),
    // If the TLS version is unknown, the value is blank. Blank text is not a number, so a numeric condition cannot be decided and a
    // Deny of old TLS versions applies.
    's3:tlsversion': request.isSecure ? (request.tlsVersion ?? '') : undefined,
    's3:prefix': query.get('prefix'),
    's3:delimiter': query.get('delimiter'),
    's3:versionid': query.get('versionId'),
    's3:x-amz-copy-source': header('x-amz-copy-source')?.replace(/^\//, ''),
    's3:x-amz-content-sha256': header('x-amz-content-sha256'),
  };
  for (const name of SELF_NAMED) context[`s3:${name}`] = header(name);
  for (const name of LOCK_KEYS) context[`s3:${name}`] = header(`x-amz-${name}`);
  const until = Date.parse(header('x-amz-object-lock-retain-until-date') ?? '');
  if (!Number.isNaN(until))
    context['s3:object-lock-remaining-retention-days'] = String(Math.ceil((until - now) / DAY_MS));
  if (request.method !== 'GET' && request.method !== 'HEAD') Object.assign(context, toWriteConditions(request));
  const tagging = headers.get('x-amz-tagging');
  if (tagging !== null) Object.assign(context, toRequestTags(new URLSearchParams(tagging)));
  return context;
}

/**
 * Value of `s3:signatureage`: milliseconds since a link was signed (Amazon S3 API Reference, "Amazon S3 Signature Version 4
 * Authentication Specific Policy Keys"). Links with Signature Version 2 do not contain that time, so their age is 0, as at AWS.
 */
function readSignatureAge({ query }: S3Request, caller: Caller, now: number): string | undefined {
  if (caller.via !== 'query') return undefined;
  if (caller.signature === 'AWS') return '0';
  const signedAt = parseAmzDate(query.get('X-Amz-Date') ?? '');
  return signedAt === null ? '' : String(Math.max(0, now - signedAt));
}

/**
 * Value of `s3:max-keys`: the number of entries that a listing returns, even if the client requested none. Blank if the client's
 * number is invalid: a condition on it then cannot be decided, so an Allow does not apply and a Deny does.
 */
function readMaxKeys(need: AccessNeed, request: S3Request): string | undefined {
  const isListing = request.method === 'GET' && request.key === '' && /^ListBucket(Versions)?$/.test(need.action);
  if (!isListing) return undefined;
  const limit = parseLimit(request, 'max-keys');
  return limit.ok ? String(limit.value) : '';
}

/**
 * The condition keys with which policies require conditional writes (User Guide, "Enforce conditional writes on Amazon S3
 * buckets"). Creating an upload and sending its parts require `s3:PutObject` too, but create no object.
 */
function toWriteConditions({ method, query, headers }: S3Request): Context {
  const isPartOfUpload = query.has('uploads') || (method === 'PUT' && query.has('uploadId'));
  return {
    's3:objectcreationoperation': String(!isPartOfUpload),
    's3:if-match': headers.get('if-match') ?? undefined,
    's3:if-none-match': headers.get('if-none-match') ?? undefined,
  };
}

const DAY_MS = 86_400_000;
const LOCK_KEYS = ['object-lock-legal-hold', 'object-lock-mode', 'object-lock-retain-until-date'];

const SELF_NAMED = [
  'x-amz-acl',
  'x-amz-grant-full-control',
  'x-amz-grant-read',
  'x-amz-grant-read-acp',
  'x-amz-grant-write',
  'x-amz-grant-write-acp',
  'x-amz-metadata-directive',
  'x-amz-object-ownership',
  'x-amz-server-side-encryption',
  'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-server-side-encryption-customer-algorithm',
  'x-amz-storage-class',
  'x-amz-website-redirect-location',
];

/** The condition keys of the tags in a request. */
export function toRequestTags(tags: Iterable<readonly [key: string, value: string]>): Context {
  const context: Context = {};
  const keys: string[] = [];
  for (const [key, value] of tags) {
    context[`s3:requestobjecttag/${key.toLowerCase()}`] = value;
    keys.push(key);
  }
  context['s3:requestobjecttagkeys'] = keys;
  return context;
}

function toTagContext(version: Pick<StoredVersion, 'tags'> | null | undefined): Context {
  const context: Context = {};
  for (const [key, value] of Object.entries(version?.tags ?? {})) {
    context[`s3:existingobjecttag/${key.toLowerCase()}`] = value;
  }
  return context;
}
