import { describe, expect, it } from 'vitest';
import { deriveSigningKey, SecretAccessKey } from '../../../workers/identity/domain/sigv4.ts';
import { createChunkVerifier } from '../../../workers/identity/domain/sigv4-streaming.ts';
import type { UserPrincipal } from '../../../workers/identity/principal.ts';
import {
  authenticateS3,
  type S3AuthenticationRequest,
  type S3Credentials,
} from '../../../workers/identity/s3/s3-authentication.ts';
import { err } from '../../../workers/shared/pure/result.ts';

/**
 * The key and the time of the examples in the Amazon S3 API Reference (sig-v4-header-based-auth,
 * sigv4-query-string-auth, sigv4-streaming).
 */
const KEY_ID = 'AKIAIOSFODNN7EXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const NOW = Date.parse('2013-05-24T00:00:00Z');
const SCOPE = { accessKeyId: KEY_ID, date: '20130524', region: 'us-east-1', service: 's3' };

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
  findBearer: async (token) => (token === 'tok_good' ? user : null),
};

function request(
  method: string,
  target: string,
  headers: Record<string, string>,
  signature?: string,
): S3AuthenticationRequest {
  const all = new Headers({ host: 'examplebucket.s3.amazonaws.com', ...headers });
  if (signature !== undefined) {
    const names = [...all.keys()].sort().join(';');
    all.set(
      'authorization',
      `AWS4-HMAC-SHA256 Credential=${KEY_ID}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names},Signature=${signature}`,
    );
  }
  const [rawPath = '', rawQuery = ''] = target.split('?');
  return {
    method,
    rawPath,
    rawQuery,
    headers: all,
    headerNames: [...all.keys()],
    query: new Map(new URLSearchParams(rawQuery)),
    hostBucket: null,
  };
}

const DATE = { 'x-amz-date': '20130524T000000Z' };
const codeOf = async (of: S3AuthenticationRequest, now = NOW) => {
  const result = await authenticateS3(of, credentials, now);
  return result.ok ? result.value.via : result.error.code;
};

describe('SigV4 in the header', () => {
  const examples: [string, S3AuthenticationRequest][] = [
    [
      'GET with a Range',
      request(
        'GET',
        '/test.txt',
        { ...DATE, range: 'bytes=0-9', 'x-amz-content-sha256': EMPTY },
        'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
      ),
    ],
    [
      'PUT of a key with a dollar sign',
      request(
        'PUT',
        '/test$file.text',
        {
          ...DATE,
          date: 'Fri, 24 May 2013 00:00:00 GMT',
          'x-amz-storage-class': 'REDUCED_REDUNDANCY',
          'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
        },
        '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
      ),
    ],
    [
      'a subresource without a value',
      request(
        'GET',
        '/?lifecycle',
        { ...DATE, 'x-amz-content-sha256': EMPTY },
        'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
      ),
    ],
    [
      'query parameters',
      request(
        'GET',
        '/?prefix=J&max-keys=2',
        { ...DATE, 'x-amz-content-sha256': EMPTY },
        '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
      ),
    ],
  ];
  it.each(examples)("accepts AWS's own example: %s", async (_, example) => {
    expect(await codeOf(example)).toBe('header');
  });

  const good = () => examples[0]?.[1] as S3AuthenticationRequest;
  it('refuses a signature for another path', async () => {
    expect(await codeOf({ ...good(), rawPath: '/other.txt' })).toBe('SignatureDoesNotMatch');
  });
  it('allows 15 minutes of clock difference and no more', async () => {
    expect(await codeOf(good(), NOW + 15 * 60_000)).toBe('header');
    expect(await codeOf(good(), NOW + 15 * 60_000 + 1)).toBe('RequestTimeTooSkewed');
    expect(await codeOf(good(), NOW - 15 * 60_000 - 1)).toBe('RequestTimeTooSkewed');
  });
  it('refuses x-amz- headers that the signature does not cover', async () => {
    const headers = new Headers(good().headers as Headers);
    headers.set('x-amz-acl', 'public-read');
    expect(await codeOf({ ...good(), headers, headerNames: [...headers.keys()] })).toBe('AccessDenied');
  });
  it('refuses an unknown access key', async () => {
    const headers = new Headers(good().headers as Headers);
    headers.set('authorization', (headers.get('authorization') ?? '').replace(KEY_ID, 'AKIANOBODY'));
    expect(await codeOf({ ...good(), headers })).toBe('InvalidAccessKeyId');
  });
  it('refuses SigV2 in the header and recommends SigV4', async () => {
    expect(await codeOf(request('GET', '/', { authorization: `AWS ${KEY_ID}:abc=` }))).toBe('InvalidRequest');
  });
});

describe('SigV4 in the query', () => {
  const target = (signature: string, expires = '86400') =>
    `/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${KEY_ID}%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=${expires}&X-Amz-SignedHeaders=host&X-Amz-Signature=${signature}`;
  const good = target('aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404');
  it("accepts AWS's own example until it expires", async () => {
    expect(await codeOf(request('GET', good, {}))).toBe('query');
    expect(await codeOf(request('GET', good, {}), NOW + 86_400_000)).toBe('query');
    expect(await codeOf(request('GET', good, {}), NOW + 86_400_001)).toBe('AccessDenied');
  });
  it.each(['604801', '-1', 'soon'])('refuses an X-Amz-Expires of %s', async (expires) => {
    expect(await codeOf(request('GET', target('00', expires), {}))).toBe('AuthorizationQueryParametersError');
  });
  it('refuses a second signature, which nobody signed', async () => {
    expect(await codeOf(request('GET', `${good}&X-Amz-Signature=0`, {}))).toBe('SignatureDoesNotMatch');
  });
  it('refuses a presigned query with an Authorization header', async () => {
    expect(await codeOf(request('GET', good, { authorization: 'Bearer tok_good' }))).toBe('InvalidArgument');
  });
});

describe('other credentials', () => {
  it('accepts a bearer token, refuses an unknown one, and treats requests without credentials as anonymous', async () => {
    expect(await codeOf(request('GET', '/', { authorization: 'Bearer tok_good' }))).toBe('bearer');
    expect(await codeOf(request('GET', '/', { authorization: 'Bearer tok_bad' }))).toBe('InvalidToken');
    expect(await codeOf(request('GET', '/', {}))).toBe('anonymous');
  });
});

describe('signatures in the body', () => {
  const a = (length: number) => Buffer.alloc(length, 'a');
  const sha256 = async (bytes: Uint8Array<ArrayBuffer>) =>
    Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
  const verifier = (seed: string) =>
    createChunkVerifier(deriveSigningKey(SECRET, SCOPE), '20130524T000000Z', SCOPE, seed);

  it("accepts the chunks of AWS's own example in their order only", async () => {
    const signatures = [
      'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
      '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
      'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
    ];
    const hashes = [await sha256(a(65_536)), await sha256(a(1024)), EMPTY];
    const seed = '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9';
    const inOrder = verifier(seed);
    expect(signatures.map((signature, i) => inOrder.verifyChunk(signature, hashes[i] ?? ''))).toEqual([
      true,
      true,
      true,
    ]);
    expect(verifier(seed).verifyChunk(signatures[1] ?? '', hashes[1] ?? '')).toBe(false);
  });

  it("accepts the trailer of AWS's own example", async () => {
    const chain = verifier('106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e');
    expect([
      chain.verifyChunk('b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2', await sha256(a(65_536))),
      chain.verifyChunk('1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7', await sha256(a(1024))),
      chain.verifyChunk('2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992', EMPTY),
      chain.verifyTrailer('d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435', [
        ['x-amz-checksum-crc32c', 'sOO8/Q=='],
      ]),
    ]).toEqual([true, true, true, true]);
  });
});

describe('a secret access key', () => {
  it('derives the key of each scope, also after another one', () => {
    const secret = new SecretAccessKey(SECRET);
    const scopes = ['20130524', '20130525', '20130524'].map((date) => ({ ...SCOPE, date }));
    for (const scope of [...scopes, { ...SCOPE, service: 'sts' }, { ...SCOPE, region: 'eu-west-1' }])
      expect(secret.signingKeyOf(scope)).toEqual(deriveSigningKey(SECRET, scope));
  });
});
