import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CorsRule,
  checkCorsRules,
  findCorsRule,
  parseRequestHeaders,
  toCorsHeaders,
} from '../../../workers/storage/domain/cors.ts';
import { s3Failure } from '../../../workers/storage/domain/failure.ts';
import { compareNames, nameAfterPrefix } from '../../../workers/storage/domain/name-order.ts';
import { checkKey } from '../../../workers/storage/domain/naming.ts';
import {
  formatSlotMap,
  initialSlotStates,
  parseSlotMap,
  SLOT_COUNT,
  shardsOf,
  slotOf,
} from '../../../workers/storage/domain/slots.ts';
import { BUCKET_TAGS_MAX, checkTags, parseTaggingHeader } from '../../../workers/storage/domain/tagging.ts';

describe('a failure', () => {
  it('has the message of its code, or its own', () => {
    expect(s3Failure('AccessDenied')).toEqual({ code: 'AccessDenied', message: 'Access Denied' });
    expect(s3Failure('AccessDenied', 'No')).toEqual({ code: 'AccessDenied', message: 'No' });
  });
});

describe('a key', () => {
  it('has at most 1,024 bytes, in characters of any width', () => {
    const fits = (key: string) => checkKey(key).ok;
    expect([fits('a'.repeat(1024)), fits('a'.repeat(1025))]).toEqual([true, false]);
    expect([fits('€'.repeat(341)), fits('€'.repeat(342))]).toEqual([true, false]);
    expect([fits('😀'.repeat(256)), fits('😀'.repeat(257))]).toEqual([true, false]);
  });
  it('is reported with its size if it is too long', () => {
    expect(checkKey('€'.repeat(342))).toMatchObject({
      error: { code: 'KeyTooLongError', details: { Size: '1026', MaxSizeAllowed: '1024' } },
    });
  });
});

describe('the order of names', () => {
  const edges = [
    'a',
    'b',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{103fe}',
    '\u{103ff}',
    '\u{10fffe}',
    '\u{10ffff}',
  ];
  const name = fc.array(fc.constantFrom(...edges), { maxLength: 4 }).map((characters) => characters.join(''));
  const byBytes = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
  it('is that of the UTF-8 bytes, also around the surrogates', () => {
    for (const a of edges) for (const b of edges) expect(Math.sign(compareNames(a, b))).toBe(byBytes(a, b));
    fc.assert(
      fc.property(name, name, name, (start, a, b) => {
        expect(Math.sign(compareNames(start + a, start + b))).toBe(byBytes(start + a, start + b));
      }),
    );
  });
  it('has no name after all names that begin with the last character', () => {
    expect([nameAfterPrefix(''), nameAfterPrefix('\u{10ffff}\u{10ffff}')]).toEqual([null, null]);
    expect(nameAfterPrefix('ab\u{10ffff}\u{10ffff}')).toBe('ac');
  });
});

describe('a slot', () => {
  it('is the CRC-32 of the name, folded to a byte', () => {
    // Expected slot: CRC-32 of "123456789" is cbf43926 (the published check value), and cb ^ f4 ^ 39 ^ 26 = 20.
    expect(slotOf('123456789')).toBe(0x20);
    fc.assert(
      fc.property(fc.string(), (name) => {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32BE(crc32(name));
        expect(slotOf(name)).toBe(bytes.reduce((folded: number, byte: number) => folded ^ byte, 0));
      }),
    );
  });
  it('is one of 256, and each is used', () => {
    const used = new Set(Array.from({ length: 5000 }, (_, i) => slotOf(`key-${i}`)));
    expect([used.size, Math.max(...used)]).toEqual([SLOT_COUNT, SLOT_COUNT - 1]);
  });
  it('is stored as two hex digits, and is open in the shard that holds it', () => {
    const shards = new Uint8Array([2, 10, 2, 1]);
    expect(formatSlotMap(shards)).toBe('020a0201');
    expect(parseSlotMap('020a0201')).toEqual(shards);
    expect(initialSlotStates(shards, 2)).toBe('o-o-');
    expect(shardsOf(shards)).toEqual([1, 2, 10]);
  });
});

describe('tags', () => {
  const tags = (count: number) => Array.from({ length: count }, (_, i) => ({ key: `k${i}`, value: '' }));
  it('number at most 10 on an object and 50 on a bucket', () => {
    expect(checkTags(tags(10)).ok).toBe(true);
    expect(checkTags(tags(11))).toEqual({
      ok: false,
      error: { code: 'BadRequest', message: 'Object tags cannot be greater than 10' },
    });
    expect(checkTags(tags(50), BUCKET_TAGS_MAX).ok).toBe(true);
    expect(checkTags(tags(51), BUCKET_TAGS_MAX)).toEqual({
      ok: false,
      error: { code: 'BadRequest', message: 'Bucket tag count cannot be greater than 50' },
    });
  });
  it('have keys of at most 128 and values of at most 256 characters, of any width', () => {
    const fits = (key: string, value: string) => checkTags([{ key, value }]).ok;
    expect([fits('k'.repeat(128), ''), fits('k'.repeat(129), '')]).toEqual([true, false]);
    expect([fits('k', 'v'.repeat(256)), fits('k', 'v'.repeat(257))]).toEqual([true, false]);
    expect([fits('𝒌'.repeat(128), '𝒗'.repeat(256)), fits('𝒌'.repeat(129), '')]).toEqual([true, false]);
  });
  it('are a query string in a header, where + is a space and empty parts are ignored', () => {
    expect(parseTaggingHeader('&a+b=c+d&&e')).toEqual({
      ok: true,
      value: [
        { key: 'a b', value: 'c d' },
        { key: 'e', value: '' },
      ],
    });
    expect(parseTaggingHeader('')).toEqual({ ok: true, value: [] });
  });
  it.each(['=v', '%ff=v', 'k=%ff', '%ff', 'a=b&=&c=d', 'a=b&a=c'])('are refused in a header as %j', (header) => {
    expect(parseTaggingHeader(header)).toMatchObject({
      ok: false,
      error: { code: 'InvalidArgument', details: { ArgumentName: 'x-amz-tagging', ArgumentValue: header } },
    });
  });
});

describe('cross-origin rules', () => {
  const rule: CorsRule = {
    id: null,
    allowedOrigins: ['https://*.example'],
    allowedMethods: ['GET', 'PUT'],
    allowedHeaders: ['x-amz-*', 'Content-Type'],
    exposeHeaders: [],
    maxAgeSeconds: null,
  };
  const errorOf = (...rules: CorsRule[]) => {
    const checked = checkCorsRules(rules);
    return checked.ok ? null : `${checked.error.code}: ${checked.error.message}`;
  };
  it('number 1 to 100', () => {
    expect(errorOf()).toContain('MalformedXML');
    expect(errorOf(...Array<CorsRule>(100).fill(rule))).toBeNull();
    expect(errorOf(...Array<CorsRule>(101).fill(rule))).toContain('MalformedXML');
  });
  it('need an origin and a method', () => {
    expect(errorOf({ ...rule, allowedOrigins: [] })).toContain('MalformedXML');
    expect(errorOf({ ...rule, allowedMethods: [] })).toContain('MalformedXML');
    expect(errorOf({ ...rule, allowedMethods: ['HEAD'], allowedHeaders: [] })).toBeNull();
  });
  it('are refused with other methods or two wildcards in one pattern', () => {
    expect(errorOf({ ...rule, allowedMethods: ['GET', 'PATCH'] })).toBe(
      'InvalidRequest: Found unsupported HTTP method in CORS config. Unsupported method is PATCH',
    );
    expect(errorOf({ ...rule, allowedOrigins: ['*', 'https://*.*'] })).toBe(
      'InvalidRequest: AllowedOrigin "https://*.*" can not have more than one wildcard.',
    );
    expect(errorOf({ ...rule, allowedHeaders: ['*', 'x-*-*'] })).toBe(
      'InvalidRequest: AllowedHeader "x-*-*" can not have more than one wildcard.',
    );
  });
  it.each([
    ['*', 'https://a.example', true],
    ['*.example', 'https://a.example', true],
    ['https://*', 'https://a.example', true],
    // A star may match nothing, but the text before and after it must not overlap.
    ['https://*.example', 'https://.example', true],
    ['https://a*a.example', 'https://a.example', false],
    ['https://a.example', 'https://a.example', true],
    ['https://a.example', 'https://a.example.org', false],
  ])('with the origin %s allow %s: %s', (pattern, origin, isAllowed) => {
    expect(findCorsRule([{ ...rule, allowedOrigins: [pattern] }], origin, 'GET') !== null).toBe(isAllowed);
  });
  it('apply in order, and the first that allows the request decides', () => {
    const second = { ...rule, id: 'second', allowedMethods: ['DELETE'] };
    expect(findCorsRule([rule, second], 'https://a.example', 'DELETE')).toBe(second);
    expect(findCorsRule([rule, second], 'https://a.example', 'HEAD')).toBeNull();
  });
  it('return the origin with credentials, or * without credentials', () => {
    const vary = 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method';
    expect(toCorsHeaders(rule, 'https://a.example')).toEqual({
      'access-control-allow-origin': 'https://a.example',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, PUT',
      vary,
    });
    const open = { ...rule, allowedOrigins: ['*'], exposeHeaders: ['ETag'], maxAgeSeconds: 0 };
    expect(toCorsHeaders(open, 'https://a.example')).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, PUT',
      'access-control-expose-headers': 'ETag',
      'access-control-max-age': '0',
      vary,
    });
  });
  it('read the headers of a preflight in lower case, without spaces', () => {
    expect(parseRequestHeaders('X-Amz-Acl, ,content-type,')).toEqual(['x-amz-acl', 'content-type']);
    expect(parseRequestHeaders(null)).toEqual([]);
  });
});
