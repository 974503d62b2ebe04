/**
 * The Security Token Service of AWS's SDKs and CLI, at the root of storage: `GetCallerIdentity`, `GetSessionToken` and `AssumeRole`
 * (AWS STS API Reference). The two others make temporary keys of the access key that signs the request.
 *
 * By design: there are no roles. `AssumeRole` takes any role name of the caller's own account, `arn:aws:iam::<user id>:role/<name>`,
 * and the temporary key has the caller's rights within `Policy`.
 */
import { createHash } from 'node:crypto';
import {
  authenticateSts,
  createS3Credentials,
  mintTemporaryKey,
  readSessionPolicy,
  recordUse,
  TEMPORARY_SECONDS_MAX,
  type TemporaryKey,
  type UserPrincipal,
} from '../../identity/index.ts';
import { readLimited } from '../../shared/json/limited-body.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { S3_ERRORS } from '../domain/error-codes.ts';
import { admitCaller, type Wire } from './admission.ts';
import { answer } from './protocol/answer.ts';
import type { S3Request } from './protocol/request.ts';
import { element, type XmlNode } from './protocol/xml.ts';

const NAMESPACE = 'https://sts.amazonaws.com/doc/2011-06-15/';
const BODY_BYTES_MAX = 16_384;
const SECONDS_MIN = 900;

interface StsFailure {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}
const failure = (status: number, code: string, message: string) => err<StsFailure>({ code, message, status });
const invalid = (message: string) => failure(400, 'ValidationError', message);

/** What an action needs: who calls, its parameters, and a way to make keys of the caller's access key. */
interface StsCall {
  readonly caller: UserPrincipal;
  readonly given: URLSearchParams;
  readonly mint: (seconds: number, policy: TemporaryPolicy) => Result<TemporaryKey, StsFailure>;
}
type TemporaryPolicy = Parameters<typeof mintTemporaryKey>[0]['policy'];

const ACTIONS: Readonly<Record<string, (call: StsCall) => Result<readonly XmlNode[], StsFailure>>> = {
  GetCallerIdentity: ({ caller }) => ok(toIdentity(caller)),
  GetSessionToken: ({ given, mint }) => {
    const seconds = readSeconds(given, TEMPORARY_SECONDS_MAX);
    if (!seconds.ok) return seconds;
    const made = mint(seconds.value, null);
    return made.ok ? ok([toCredentials(made.value)]) : made;
  },
  AssumeRole: assumeRole,
};

/** Answers a request to the Security Token Service. @returns null if the request is none. */
export async function answerSts(request: S3Request, httpRequest: Request, wire: Wire): Promise<Response | null> {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '');
  if (request.method !== 'POST' || request.bucket !== '' || request.key !== '' || !isForm) return null;
  const body = await readLimited(httpRequest.body, BODY_BYTES_MAX);
  const given = new URLSearchParams(body.toString());
  const name = given.get('Action') ?? '';
  const outcome = body.length > BODY_BYTES_MAX ? invalid('The request is too long.') : await run(name);
  if (!outcome.ok) return failureAnswer(outcome.error, wire.requestId);
  const result = element(`${name}Result`, outcome.value);
  return xml(`${name}Response`, [result, element('ResponseMetadata', [element('RequestId', wire.requestId)])], 200);

  async function run(action: string): Promise<Result<readonly XmlNode[], StsFailure>> {
    const answering = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!answering)
      return failure(400, 'InvalidAction', 'The action is not GetCallerIdentity, GetSessionToken or AssumeRole.');
    const caller = await findCaller(request, createHash('sha256').update(body).digest('hex'), wire);
    return caller.ok ? answering({ caller: caller.value, given, mint: minterOf(caller.value, wire) }) : caller;
  }
}

async function findCaller(request: S3Request, sha256: string, wire: Wire): Promise<Result<UserPrincipal, StsFailure>> {
  const { env, now } = wire;
  const found = await authenticateSts(request, sha256, createS3Credentials(env, now, 'primary'), now);
  if (!found.ok) {
    const [status, text] = S3_ERRORS[found.error.code];
    return failure(found.error.status ?? status, found.error.code, found.error.message ?? text);
  }
  const { principal } = found.value;
  if (principal === null) return failure(403, 'AccessDenied', 'Access Denied');
  recordUse(env, principal, now, wire.waitUntil);
  const admitted = await admitCaller(env, found.value, request.headers);
  return admitted.ok ? ok(principal) : failure(400, 'Throttling', 'Rate exceeded');
}

const minterOf =
  (caller: UserPrincipal, { env, now }: Wire): StsCall['mint'] =>
  (seconds, policy) => {
    if (caller.sessionPolicy !== null) return failure(403, 'AccessDenied', 'A temporary key makes no further ones.');
    const expiresAt = Math.min(now + seconds * 1000, caller.expiresAt ?? Number.POSITIVE_INFINITY);
    return ok(mintTemporaryKey({ parentKeyId: caller.credentialId, madeAt: now, expiresAt, policy }, env));
  };

function assumeRole({ caller, given, mint }: StsCall): Result<readonly XmlNode[], StsFailure> {
  const role = /^arn:aws:iam::([^:]+):role\/([\w+=,.@/-]{1,512})$/.exec(given.get('RoleArn') ?? '');
  const session = given.get('RoleSessionName') ?? '';
  if (!/^[\w+=,.@-]{2,64}$/.test(session))
    return invalid('RoleSessionName must have 2 to 64 of the characters \\w+=,.@-');
  if (role === null) return invalid(`RoleArn must have the form arn:aws:iam::${caller.userId}:role/<name>.`);
  if (role[1] !== caller.userId) {
    return failure(403, 'AccessDenied', 'Only roles of the account that signs the request can be assumed.');
  }
  if ([...given.keys()].some((name) => name.startsWith('PolicyArns.'))) return invalid('PolicyArns is not supported.');
  const seconds = readSeconds(given, 3_600);
  if (!seconds.ok) return seconds;
  const policy = readPolicy(given.get('Policy'));
  if (!policy.ok) return policy;
  const made = mint(seconds.value, policy.value);
  if (!made.ok) return made;
  return ok([
    toCredentials(made.value),
    element('AssumedRoleUser', [
      element('Arn', `arn:aws:sts::${caller.userId}:assumed-role/${role[2]}/${session}`),
      element('AssumedRoleId', `${caller.userId}:${session}`),
    ]),
  ]);
}

function readSeconds(given: URLSearchParams, usual: number): Result<number, StsFailure> {
  const text = given.get('DurationSeconds') ?? String(usual);
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= SECONDS_MIN && seconds <= TEMPORARY_SECONDS_MAX) return ok(seconds);
  return invalid(`DurationSeconds must be a whole number from ${SECONDS_MIN} to ${TEMPORARY_SECONDS_MAX}.`);
}

function readPolicy(text: string | null): Result<TemporaryPolicy, StsFailure> {
  if (text === null) return ok(null);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return failure(400, 'MalformedPolicyDocument', 'The policy is not JSON.');
  }
  const policy = readSessionPolicy(document);
  return policy.ok ? policy : failure(400, 'MalformedPolicyDocument', policy.error);
}

const toIdentity = ({ userId, userName }: UserPrincipal): readonly XmlNode[] => [
  element('Arn', `arn:aws:iam::${userId}:user/${userName}`),
  element('UserId', userId),
  element('Account', userId),
];

const toCredentials = (key: TemporaryKey): XmlNode =>
  element('Credentials', [
    element('AccessKeyId', key.accessKeyId),
    element('SecretAccessKey', key.secretAccessKey),
    element('SessionToken', key.sessionToken),
    element('Expiration', new Date(key.expiresAt).toISOString()),
  ]);

function failureAnswer({ code, message, status }: StsFailure, requestId: string): Response {
  const type = status < 500 ? 'Sender' : 'Receiver';
  const error = element('Error', [element('Type', type), element('Code', code), element('Message', message)]);
  return xml('ErrorResponse', [error, element('RequestId', requestId)], status);
}

const xml = (name: string, content: readonly XmlNode[], status: number): Response =>
  answer(`<?xml version="1.0" encoding="UTF-8"?>\n${element(name, content, ` xmlns="${NAMESPACE}"`).xml}`, status, {
    'content-type': 'text/xml',
    'cache-control': 'no-store',
  });
