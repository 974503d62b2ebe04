import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SecretAccessKey } from '../../../workers/identity/domain/sigv4.ts';
import type { UserPrincipal } from '../../../workers/identity/principal.ts';
import {
  authenticateS3,
  type S3AuthenticationRequest,
  type S3Credentials,
} from '../../../workers/identity/s3/s3-authentication.ts';
import { authenticateS3Form } from '../../../workers/identity/s3/s3-form-authentication.ts';
import { err } from '../../../workers/shared/pure/result.ts';
import { parseQuery } from '../../../workers/storage/s3/protocol/request.ts';

/** The key of the examples in the Amazon S3 API Reference (RESTAuthentication). */
const KEY_ID = 'AKIAIOSFODNN7EXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const EXPIRES = 1_175_139_620;
const NOW = (EXPIRES - 60) * 1000;
const DAY_MS = 86_400_000;

const user: UserPrincipal = {
  kind: 'user',
  userId: 'u1',
  userName: 'example',
  name: 'Example',
  email: null,
  via: 'access_key',
  credentialId: KEY_ID,
  expiresAt: null,
  lastUsedAt: null,
  confirmedUntil: null,
  scopes: null,
  policies: [],
  sessionPolicy: null,
};
const credentials: S3Credentials = {
  allowsSigV2: true,
  findAccessKey: async (id) => (id === KEY_ID ? { secret: new SecretAccessKey(SECRET), principal: user } : null),
  findTemporaryKey: async () => err('invalid'),
  findBearer: async () => null,
};

interface Options {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly hostBucket?: string;
}

function toRequest(target: string, options: Options = {}): S3AuthenticationRequest {
  const { method = 'GET', headers = {}, hostBucket = null } = options;
  const [rawPath = '', rawQuery = ''] = target.split('?');
  const all = new Headers(headers);
  const query = parseQuery(rawQuery) ?? new Map();
  return { method, rawPath, rawQuery, query, headers: all, headerNames: [...all.keys()], hostBucket };
}

const sign = (text: string) => encodeURIComponent(createHmac('sha1', SECRET).update(text).digest('base64'));

/** Builds a link. The test writes out the string to sign. */
function toLink(target: string, stringToSign: string, expires: number | string = EXPIRES): string {
  const joiner = target.includes('?') ? '&' : '?';
  return `${target}${joiner}AWSAccessKeyId=${KEY_ID}&Signature=${sign(stringToSign)}&Expires=${expires}`;
}

async function codeOf(target: string, options: Options = {}, now = NOW): Promise<string> {
  const result = await authenticateS3(toRequest(target, options), credentials, now);
  return result.ok ? `${result.value.via} ${result.value.signature}` : result.error.code;
}
const ACCEPTED = 'query AWS';
const MISMATCH = 'SignatureDoesNotMatch';

const toSimpleLink = (expires: number | string = EXPIRES) => toLink('/b/k', `GET\n\n\n${expires}\n/b/k`, expires);

describe('a SigV2 link', () => {
  it("is accepted in AWS's own example", async () => {
    const target = `/photos/puppy.jpg?AWSAccessKeyId=${KEY_ID}&Signature=NpgCjnDzrM%2BWFzoENXmpNDUsSn8%3D&Expires=1175139620`;
    expect(await codeOf(target, { hostBucket: 'johnsmith' })).toBe(ACCEPTED);
    expect(await codeOf(`/johnsmith${target}`)).toBe(ACCEPTED);
    expect(await codeOf(target.replaceAll('%2B', '+'), { hostBucket: 'johnsmith' })).toBe(ACCEPTED);
    expect(await codeOf(target, { hostBucket: 'other' })).toBe(MISMATCH);
    expect(await codeOf(target)).toBe(MISMATCH);
  });

  it('is bound to its method, path, key and secret', async () => {
    const link = toSimpleLink();
    expect(await codeOf(link)).toBe(ACCEPTED);
    for (const method of ['HEAD', 'PUT', 'POST', 'DELETE']) expect(await codeOf(link, { method })).toBe(MISMATCH);
    expect(await codeOf(link.replace('/b/k', '/b/other'))).toBe(MISMATCH);
    expect(await codeOf(link.replace(/Signature=[^&]+/, 'Signature=AAAA'))).toBe(MISMATCH);
    expect(await codeOf(link.replace(KEY_ID, 'AKIANOBODY'))).toBe('InvalidAccessKeyId');
  });

  it('is valid until it expires, and for at most 7 days', async () => {
    expect(await codeOf(toSimpleLink(), {}, EXPIRES * 1000)).toBe(ACCEPTED);
    expect(await codeOf(toSimpleLink(), {}, EXPIRES * 1000 + 1)).toBe('AccessDenied');
    const skewMs = 15 * 60_000;
    expect(await codeOf(toSimpleLink(), {}, EXPIRES * 1000 - 7 * DAY_MS - skewMs)).toBe(ACCEPTED);
    const late = await authenticateS3(toRequest(toSimpleLink()), credentials, EXPIRES * 1000 - 7 * DAY_MS - skewMs - 1);
    expect(late).toMatchObject({
      ok: false,
      error: { code: 'AccessDenied', message: 'Expires must be at most 7 days (604800 seconds) ahead.' },
    });
    expect(await codeOf(toSimpleLink().replace(`Expires=${EXPIRES}`, `Expires=${EXPIRES + 1}`))).toBe(MISMATCH);
  });

  it.each(['', 'soon', '-1', '1e9', '1175139620.5', '9'.repeat(20)])(
    'is refused with an Expires of "%s"',
    async (expires) => {
      expect(await codeOf(toSimpleLink(expires))).toBe('AccessDenied');
    },
  );

  it('is refused with the first 40 characters of a long Expires', async () => {
    const refused = await authenticateS3(toRequest(toSimpleLink(`abc${'9'.repeat(50)}`)), credentials, NOW);
    expect(refused).toMatchObject({
      error: { message: `Invalid date (should be seconds since epoch): abc${'9'.repeat(37)}` },
    });
  });

  it.each(['AWSAccessKeyId', 'Signature', 'Expires'])('needs %s', async (name) => {
    expect(await codeOf(toSimpleLink().replace(new RegExp(`${name}=[^&]*`), 'a=b'))).toBe('AccessDenied');
  });

  it('is refused with an Authorization header', async () => {
    expect(await codeOf(toSimpleLink(), { headers: { authorization: 'Bearer tok_good' } })).toBe('InvalidArgument');
  });

  it('is refused with a session token, because Tessera issues none', async () => {
    const link = toLink('/b/k?x-amz-security-token=t', `GET\n\n\n${EXPIRES}\nx-amz-security-token:t\n/b/k`);
    expect(await codeOf(link)).toBe('InvalidToken');
  });

  it('is refused if SigV2 is turned off, and so is a SigV2 form', async () => {
    const withoutSigV2 = { ...credentials, allowsSigV2: false };
    expect(await authenticateS3(toRequest(toSimpleLink()), withoutSigV2, NOW)).toMatchObject({
      error: { code: 'InvalidRequest' },
    });
    const policy = 'e30=';
    const signature = createHmac('sha1', SECRET).update(policy).digest('base64');
    const fields = new Map([
      ['policy', policy],
      ['awsaccesskeyid', KEY_ID],
      ['signature', signature],
    ]);
    expect(await authenticateS3Form(fields, credentials, NOW)).toMatchObject({
      value: { via: 'form', signature: 'AWS' },
    });
    expect(await authenticateS3Form(fields, withoutSigV2, NOW)).toMatchObject({ error: { code: 'InvalidRequest' } });
  });
});

describe('the string to sign of a SigV2 link', () => {
  it('contains the MD5 and the type of the body', async () => {
    const link = toLink('/b/k', `PUT\nmd5==\ntext/plain\n${EXPIRES}\n/b/k`);
    const headers = { 'content-md5': 'md5==', 'content-type': 'text/plain' };
    expect(await codeOf(link, { method: 'PUT', headers })).toBe(ACCEPTED);
    expect(await codeOf(link, { method: 'PUT', headers: { ...headers, 'content-type': 'text/html' } })).toBe(MISMATCH);
    expect(await codeOf(link, { method: 'PUT' })).toBe(MISMATCH);
    expect(await codeOf(toSimpleLink(), { headers: { 'content-type': 'text/html' } })).toBe(MISMATCH);
  });

  it('contains every x-amz-* header, from the headers or the query, in order', async () => {
    const text = `PUT\n\n\n${EXPIRES}\nx-amz-acl:private\nx-amz-meta-a:1 2\n/b/k`;
    const sent = { method: 'PUT', headers: { 'x-amz-meta-a': '1 2', 'x-amz-acl': 'private' } };
    expect(await codeOf(toLink('/b/k', text), sent)).toBe(ACCEPTED);
    expect(await codeOf(toLink('/b/k', text), { method: 'PUT' })).toBe(MISMATCH);
    const hoisted = toLink('/b/k?x-amz-meta-a=1%202&x-amz-acl=private', text);
    expect(await codeOf(hoisted, { method: 'PUT' })).toBe(ACCEPTED);
    expect(await codeOf(hoisted, sent)).toBe(ACCEPTED);
    expect(await codeOf(hoisted, { method: 'PUT', headers: { 'x-amz-acl': 'public-read' } })).toBe(MISMATCH);
    expect(await codeOf(hoisted.replace('acl=private', 'acl=public-read'), { method: 'PUT' })).toBe(MISMATCH);
  });

  it('differs for a request with an additional header under any name', async () => {
    const link = toLink('/b/k', `PUT\n\n\n${EXPIRES}\n/b/k`);
    expect(await codeOf(link, { method: 'PUT' })).toBe(ACCEPTED);
    expect(await codeOf(link, { method: 'PUT', headers: { 'x-amz-acl': 'public-read' } })).toBe(MISMATCH);
    expect(await codeOf(`${link}&x-amz-acl=public-read`, { method: 'PUT' })).toBe(MISMATCH);
    expect(await codeOf(`${link}&X-AMZ-ACL=public-read`, { method: 'PUT' })).toBe(MISMATCH);
    expect(await codeOf(link, { method: 'PUT', headers: { 'x-meta-a': '1' } })).toBe('AccessDenied');
    expect(await codeOf(link, { method: 'PUT', headers: { 'x-amz-date': '20070329T033920Z' } })).toBe(ACCEPTED);
  });

  it('is unambiguous for line breaks and for repeated headers with different case', async () => {
    const text = `PUT\n\n\n${EXPIRES}\nx-amz-acl:private\nx-amz-meta-a:1\n/b/k`;
    const broken = toLink('/b/k?x-amz-acl=private%0Ax-amz-meta-a:1', text);
    expect(await codeOf(broken, { method: 'PUT' })).toBe('InvalidArgument');
    const twice = toLink('/b/k?x-amz-acl=private&x-amz-meta-a=1&X-Amz-Acl=public-read', text);
    expect(await codeOf(twice, { method: 'PUT' })).toBe('InvalidArgument');
  });

  it('contains operations, versions, parts and response headers, sorted and decoded', async () => {
    const target =
      '/b/k?versionId=v&response-content-type=text%2Fx&tagging&response-content-disposition=a%20b%2B&prefix=p&foo=1';
    const text = `GET\n\n\n${EXPIRES}\n/b/k?response-content-disposition=a b+&response-content-type=text/x&tagging&versionId=v`;
    expect(await codeOf(toLink(target, text))).toBe(ACCEPTED);
    // The signed value has a plus (%2B). A raw plus in the query means a space, so it is another value.
    expect(await codeOf(toLink(target, text).replace('b%2B', 'b+'))).toBe(MISMATCH);
    expect(await codeOf(toLink(target, text).replace('a%20b', 'a+b'))).toBe(ACCEPTED);
    const part = `PUT\n\n\n${EXPIRES}\n/b/k?partNumber=1&uploadId=u%2B`.replace('%2B', '+');
    expect(await codeOf(toLink('/b/k?uploadId=u%2B&partNumber=1', part), { method: 'PUT' })).toBe(ACCEPTED);
    const repeated = `GET\n\n\n${EXPIRES}\n/b/k?versionId=2&versionId=1`;
    expect(await codeOf(toLink('/b/k?versionId=2&versionId=1', repeated))).toBe(ACCEPTED);
    const equals = `GET\n\n\n${EXPIRES}\n/b/k?response-content-type=a=b=`;
    expect(await codeOf(toLink('/b/k?response-content-type=a=b=', equals))).toBe(ACCEPTED);
    expect(await codeOf(toLink('/b/k?acl=', `GET\n\n\n${EXPIRES}\n/b/k?acl=`))).toBe(ACCEPTED);
  });

  it.each([
    'acl',
    'annotation',
    'attributes',
    'encryption',
    'legal-hold',
    'partNumber=1',
    'policyStatus',
    'response-content-type=text%2Fhtml',
    'tagging',
    'tagging=1',
    'uploadId=u',
    'versionId=v',
  ])('differs for another operation: &%s', async (added) => {
    expect(await codeOf(`${toSimpleLink()}&${added}`)).toBe(MISMATCH);
  });

  it('contains the path as it was sent, or encoded again', async () => {
    const sent = '/b/a%20b/%C3%BC(1)~';
    for (const path of [sent, '/b/a%20b/%C3%BC%281%29~']) {
      expect(await codeOf(toLink(sent, `GET\n\n\n${EXPIRES}\n${path}`))).toBe(ACCEPTED);
    }
    for (const bucket of ['/b', '/b/']) {
      for (const signed of ['/b', '/b/']) {
        expect(await codeOf(toLink(bucket, `GET\n\n\n${EXPIRES}\n${signed}`))).toBe(ACCEPTED);
      }
      expect(await codeOf(toLink('/', `GET\n\n\n${EXPIRES}\n${bucket}`), { hostBucket: 'b' })).toBe(ACCEPTED);
    }
    for (const signed of ['/b/k/', 'undefined', 'undefined/'])
      expect(await codeOf(toLink('/b/k', `GET\n\n\n${EXPIRES}\n${signed}`))).toBe(MISMATCH);
    expect(await codeOf(toLink('/', `GET\n\n\n${EXPIRES}\n/`))).toBe(ACCEPTED);
    expect(await codeOf(toLink('/b/a%3Facl', `GET\n\n\n${EXPIRES}\n/b/a?acl`))).toBe(MISMATCH);
  });
});
