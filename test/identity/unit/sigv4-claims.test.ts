import { describe, expect, it } from 'vitest';
import { authFailure } from '../../../workers/identity/domain/s3-auth-failure.ts';
import {
  type CredentialScope,
  SIGV4_ALGORITHM,
  toCanonicalPath,
  toCanonicalQuery,
  toCanonicalRequests,
} from '../../../workers/identity/domain/sigv4.ts';
import {
  parseAmzDate,
  parseAuthorizationHeader,
  parseCredentialScope,
  parsePresignedQuery,
  readRequestDate,
  toAmzDate,
} from '../../../workers/identity/domain/sigv4-credentials.ts';

const CREDENTIAL = 'KEY/20130524/us-east-1/s3/aws4_request';
const SCOPE: CredentialScope = { accessKeyId: 'KEY', date: '20130524', region: 'us-east-1', service: 's3' };

describe('an authentication failure', () => {
  it('has a message and details only if they are given', () => {
    expect(authFailure('AccessDenied')).toStrictEqual({ code: 'AccessDenied' });
    expect(authFailure('AccessDenied', 'No', { Key: 'k' })).toStrictEqual({
      code: 'AccessDenied',
      message: 'No',
      details: { Key: 'k' },
    });
  });
});

describe('a credential scope', () => {
  const parse = (text: string) => parseCredentialScope(text, 'InvalidArgument');
  const FORM = 'The credential must have the form "<your-access-key-id>/YYYYMMDD/<region>/<service>/aws4_request".';

  it('contains key, date, region and service', () => {
    expect(parse(CREDENTIAL)).toEqual({ ok: true, value: SCOPE });
  });
  it.each([
    '',
    '/20130524/us-east-1/s3/aws4_request',
    'KEY//us-east-1/s3/aws4_request',
    'KEY/20130524//s3/aws4_request',
    'KEY/20130524/us-east-1//aws4_request',
    'KEY/20130524/us-east-1/s3',
    `${CREDENTIAL}/more`,
  ])('is rejected without exactly five parts: %j', (text) => {
    expect(parse(text)).toEqual({ ok: false, error: { code: 'InvalidArgument', message: FORM } });
  });
  it.each([
    ['KEY/2013-5-24/us-east-1/s3/aws4_request', 'The credential\'s date "2013-5-24" is not of the form yyyyMMdd.'],
    [
      'KEY/20130524/us-east-1/iam/aws4_request',
      'The credential\'s service "iam" is wrong. This endpoint belongs to "s3".',
    ],
    ['KEY/20130524/us-east-1/s3/aws4', 'The credential ends in "aws4"; "aws4_request" is expected.'],
  ])('is rejected with an error that names the wrong part: %j', (text, message) => {
    expect(parse(text)).toMatchObject({ ok: false, error: { message } });
  });
});

describe('an Authorization header', () => {
  const parse = (rest: string) => parseAuthorizationHeader(`${SIGV4_ALGORITHM} ${rest}`);
  const messageOf = (rest: string) => {
    const parsed = parse(rest);
    return parsed.ok ? null : parsed.error.message;
  };

  it.each([
    [`Credential=${CREDENTIAL},SignedHeaders=host;range,Signature=ab`],
    [`Credential=${CREDENTIAL}, SignedHeaders=Host;Range, Signature=ab`],
    [`  Signature = ab ,Credential=${CREDENTIAL} ,, =x, a=, SignedHeaders=host;range`],
  ])('is parsed in any order, with or without spaces: %s', (rest) => {
    const value = { scope: SCOPE, signedHeaders: ['host', 'range'], signature: 'ab' };
    expect(parse(rest)).toEqual({ ok: true, value });
  });
  it.each(['Credential', 'SignedHeaders', 'Signature'])('is malformed without a value for %s', (name) => {
    const all = { Credential: CREDENTIAL, SignedHeaders: 'host', Signature: 'ab' };
    const message = `The authorization header is malformed; it has no ${name}.`;
    const join = (members: Record<string, string>) =>
      Object.entries(members)
        .map(([key, value]) => `${key}=${value}`)
        .join(',');
    expect(messageOf(join({ ...all, [name]: '' }))).toBe(message);
    // A part of the Authorization header without "=" is not a field, even if it starts with the name of a field.
    const others = Object.entries(all).filter(([key]) => key !== name);
    expect(messageOf(`${name}x,${join(Object.fromEntries(others))}`)).toBe(message);
  });
  it('reports errors in its credential', () => {
    expect(messageOf('Credential=KEY,SignedHeaders=host,Signature=ab')).toContain('must have the form');
  });
  it('must sign the Host header', () => {
    const parsed = parse(`Credential=${CREDENTIAL},SignedHeaders=hosts;range,Signature=ab`);
    expect(parsed).toMatchObject({
      ok: false,
      error: { code: 'SignatureDoesNotMatch', message: 'The Host header must be signed.' },
    });
  });
});

describe('a presigned query', () => {
  const QUERY = {
    'X-Amz-Algorithm': SIGV4_ALGORITHM,
    'X-Amz-Credential': CREDENTIAL,
    'X-Amz-Date': '20130524T010203Z',
    'X-Amz-Expires': '60',
    'X-Amz-SignedHeaders': 'Host;range',
    'X-Amz-Signature': 'ab',
  };
  const parse = (changed: Record<string, string>) =>
    parsePresignedQuery(new Map(Object.entries({ ...QUERY, ...changed })));
  const messageOf = (changed: Record<string, string>) => {
    const parsed = parse(changed);
    return parsed.ok ? null : parsed.error.message;
  };

  it('contains scope, headers, signature, date and lifetime', () => {
    const value = {
      scope: SCOPE,
      signedHeaders: ['host', 'range'],
      signature: 'ab',
      amzDate: '20130524T010203Z',
      expiresSeconds: 60,
    };
    expect(parse({})).toEqual({ ok: true, value });
  });
  it.each(Object.keys(QUERY).slice(1))('needs %s', (name) => {
    const query = new Map(Object.entries(QUERY));
    query.delete(name);
    expect(parsePresignedQuery(query)).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/^Query-string authentication needs X-Amz-Algorithm,/) },
    });
  });
  it.each([
    [{ 'X-Amz-Expires': '0' }, null],
    [{ 'X-Amz-Expires': '604800' }, null],
    [{ 'X-Amz-Expires': '604801' }, 'X-Amz-Expires must be less than a week (in seconds); that is, 604800.'],
    [{ 'X-Amz-Expires': '-1' }, 'X-Amz-Expires must be non-negative.'],
    [{ 'X-Amz-Expires': '' }, 'X-Amz-Expires should be a number.'],
    [{ 'X-Amz-Algorithm': 'AWS4-ECDSA-P256-SHA256' }, 'X-Amz-Algorithm only supports "AWS4-HMAC-SHA256".'],
    [{ 'X-Amz-Date': '20130524T010203' }, "X-Amz-Date must be in the ISO 8601 form \"yyyyMMdd'T'HHmmss'Z'\"."],
    [
      { 'X-Amz-Date': '20130525T010203Z' },
      'Invalid credential date "20130524". This date is not the same as X-Amz-Date.',
    ],
    [{ 'X-Amz-SignedHeaders': 'range' }, 'X-Amz-SignedHeaders must name the host header.'],
    [{ 'X-Amz-Credential': 'KEY' }, expect.stringContaining('must have the form')],
  ])('with %j has the error %j', (changed, message) => {
    expect(messageOf(changed)).toEqual(message);
  });
});

describe('the time of a request', () => {
  const read = (headers: Record<string, string>) => readRequestDate(new Headers(headers));
  const MISSING = {
    code: 'AccessDenied',
    message: 'AWS authentication requires a valid Date or x-amz-date header',
  };

  it('has the form YYYYMMDDTHHMMSSZ', () => {
    const time = Date.UTC(2013, 4, 24, 1, 2, 3);
    expect([parseAmzDate('20130524T010203Z'), toAmzDate(time + 999)]).toEqual([time, '20130524T010203Z']);
  });
  it.each(['20130524', '20131324T000000Z', '20130524T250000Z', 'x20130524T000000Z', ''])('rejects %j', (text) => {
    expect(parseAmzDate(text)).toBeNull();
  });
  it('prefers x-amz-date to Date, which may have the HTTP form', () => {
    const at = { epochMs: Date.UTC(2013, 4, 24), amzDate: '20130524T000000Z' };
    const other = 'Sat, 25 May 2013 00:00:00 GMT';
    expect(read({ 'x-amz-date': '20130524T000000Z', date: other })).toEqual({ ok: true, value: at });
    expect(read({ date: '20130524T000000Z' })).toEqual({ ok: true, value: at });
    expect(read({ date: 'Fri, 24 May 2013 00:00:00 GMT' })).toEqual({ ok: true, value: at });
  });
  it('is required', () => {
    expect(read({})).toEqual({ ok: false, error: MISSING });
    expect(read({ date: 'yesterday' })).toEqual({ ok: false, error: MISSING });
    expect(readRequestDate({ get: () => null })).toEqual({ ok: false, error: MISSING });
  });
});

describe('a canonical query', () => {
  it.each([
    ['', ''],
    // Parameters are sorted by name, then by value.
    ['b=1&a=2&c&a=1', 'a=1&a=2&b=1&c='],
    ['a=1&b=1&a=2', 'a=1&a=2&b=1'],
    ['a=3&a=2&a=1&a=2', 'a=1&a=2&a=2&a=3'],
    ['c=0&b=9&a=9&b=8', 'a=9&b=8&b=9&c=0'],
    ['&a=1&&', 'a=1'],
    ['=v&n=', '=v&n='],
    ['a=b=c', 'a=b%3Dc'],
    ['x&X-Amz-Signature=ab', 'x='],
    ['a%20b=%7e%2b', 'a%20b=~%2B'],
    // `+` means a space, as operations read it.
    ['a+b=c+d', 'a%20b=c%20d'],
  ])('of %j is %j', (rawQuery, expected) => {
    expect(toCanonicalQuery(rawQuery)).toBe(expected);
  });
});

describe('the canonical requests that a client may have signed', () => {
  const texts = (rawPath: string, rawQuery: string, headers: Record<string, string>) => [
    ...toCanonicalRequests(
      { method: 'GET', rawPath, rawQuery, headers: new Headers(headers) },
      ['host', 'x-amz-meta-a'],
      'HASH',
    ),
  ];
  const text = (path: string, query: string, value: string) =>
    `GET\n${path}\n${query}\nhost:h\nx-amz-meta-a:${value}\n\nhost;x-amz-meta-a\nHASH`;

  it('consist of one for a plain request', () => {
    expect(texts('/a/b', 'c=d', { host: 'h', 'x-amz-meta-a': ' 1  2 ' })).toEqual([text('/a/b', 'c=d', '1 2')]);
  });
  it('vary by path and by the comma in a repeated header, without repetition, the likeliest first', () => {
    const likeliest = text('/~', 'a=1%202', 'x, y');
    const all = texts('/%7e', 'a=1+2', { host: 'h', 'x-amz-meta-a': 'x, y' });
    expect(all[0]).toBe(likeliest);
    expect(new Set(all)).toEqual(
      new Set(['/~', '/%7e'].flatMap((path) => ['x, y', 'x,y'].map((value) => text(path, 'a=1%202', value)))),
    );
    expect(all).toHaveLength(4);
  });
  it('have the host with its port, then without it, as git-annex signs it', () => {
    const all = texts('/a', '', { host: 'h:8787', 'x-amz-meta-a': '1' });
    expect(all).toHaveLength(2);
    expect(all[0]).toContain('host:h:8787\n');
    expect(all[1]).toBe(text('/a', '', '1'));
  });
  it('encode a path once and keep its slashes', () => {
    expect(toCanonicalPath('//a b/%7e')).toBe('//a%20b/~');
  });
});
