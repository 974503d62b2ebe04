import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseCustomerKey } from '../../../workers/storage/domain/customer-key.ts';
import { detectAction } from '../../../workers/storage/s3/protocol/detect.ts';
import { parseS3Request, withHoistedHeaders } from '../../../workers/storage/s3/protocol/request.ts';

const OPTIONS = { s3Host: 's3.example', rawTargetHeader: '' };
/** Parses a request as a Worker receives it. Its `url` is the raw target, which Node's Request would normalise. */
function parse(method: string, target: string, headers: Record<string, string> = {}, options = OPTIONS) {
  const all = new Headers({ host: 'localhost:8787', ...headers });
  const url = `http://${all.get('host')}${target}`;
  const parsed = parseS3Request({ method, url, headers: all, body: null } as unknown as Request, options);
  if (!parsed.ok) return parsed.error.code;
  return parsed.value;
}
function names(target: string, headers: Record<string, string> = {}, options = OPTIONS) {
  const parsed = parse('GET', target, headers, options);
  return typeof parsed === 'string' ? parsed : [parsed.bucket, parsed.key];
}

describe('the TLS version of a request', () => {
  const versionOf = (url: string, cf?: object) => {
    const request = { method: 'GET', url, headers: new Headers(), body: null, cf } as unknown as Request;
    const parsed = parseS3Request(request, OPTIONS);
    return parsed.ok ? parsed.value.tlsVersion : parsed.error.code;
  };
  it('is the number that Cloudflare reports', () => {
    expect(versionOf('https://s3.example/', { tlsVersion: 'TLSv1.3' })).toBe('1.3');
    expect(versionOf('https://s3.example/', { tlsVersion: 'TLSv1' })).toBe('1');
  });
  it('is null over http, and if it is not known', () => {
    expect(versionOf('http://s3.example/', { tlsVersion: 'TLSv1.3' })).toBeNull();
    expect(versionOf('https://s3.example/')).toBeNull();
    expect(versionOf('https://s3.example/', { tlsVersion: 'none' })).toBeNull();
  });
});

describe('the name of an object in a request', () => {
  it.each([
    ['/', ['', '']],
    ['/bucket', ['bucket', '']],
    ['/bucket/', ['bucket', '']],
    ['/bucket/a/../b', ['bucket', 'a/../b']],
    ['/bucket/./..', ['bucket', './..']],
    ['/bucket//a//b/', ['bucket', '/a//b/']],
    ['/bucket/%2e%2e/%2F+%2B', ['bucket', '..//++']],
    ['/bucket/%00%01%F0%9F%98%80?x=/../y', ['bucket', '\u0000\u0001😀']],
    ['/bucket/100%zz', ['bucket', '100%zz']],
    ['/bucket/%FF', 'InvalidURI'],
    ['/bucket/\u00e9', ['bucket', 'é']],
  ])('of %s is %j', (target, expected) => {
    expect(names(target)).toEqual(expected);
  });

  it('is the whole path if the host names the bucket, even under /v1', () => {
    expect(names('/v1/x', { host: 'my.bucket.s3.example:8787' })).toEqual(['my.bucket', 'v1/x']);
    expect(names('/b/k', { host: 's3.example' })).toEqual(['b', 'k']);
  });

  it('comes from the raw target header only if that is configured', () => {
    const forged = { 'x-tessera-raw-target': '/b/a//b' };
    expect(names('/b/a/b', forged)).toEqual(['b', 'a/b']);
    const withRawTarget = { ...OPTIONS, rawTargetHeader: 'x-tessera-raw-target' };
    expect(names('/b/a/b', forged, withRawTarget)).toEqual(['b', 'a//b']);
  });

  it('keeps plus signs of the path and decodes those of the query as spaces', () => {
    const parsed = parse('GET', '/b/a+b?prefix=a+b%2Bc&prefix=second&empty');
    if (typeof parsed === 'string') throw new Error(parsed);
    expect([parsed.key, parsed.query.get('prefix'), parsed.query.get('empty')]).toEqual(['a+b', 'a b+c', '']);
  });
});

describe('the action of a request', () => {
  const actionOf = (method: string, target: string, headers: Record<string, string> = {}) => {
    const parsed = parse(method, target, headers);
    if (typeof parsed === 'string') throw new Error(parsed);
    const action = detectAction(parsed);
    return action.ok ? action.value : action.error.code;
  };
  it.each([
    ['GET', '/', 'ListBuckets'],
    ['PUT', '/', 'MethodNotAllowed'],
    ['PUT', '/b', 'CreateBucket'],
    ['GET', '/b', 'ListObjects'],
    ['GET', '/b?list-type=2', 'ListObjectsV2'],
    ['GET', '/b?versions&prefix=x', 'ListObjectVersions'],
    ['GET', '/b?uploads', 'ListMultipartUploads'],
    ['POST', '/b?delete', 'DeleteObjects'],
    ['POST', '/b', 'PostObject'],
    ['GET', '/b?lifecycle', 'GetBucketLifecycleConfiguration'],
    ['PUT', '/b?lifecycle', 'PutBucketLifecycleConfiguration'],
    ['DELETE', '/b?lifecycle', 'DeleteBucketLifecycle'],
    ['GET', '/b?encryption', 'GetBucketEncryption'],
    ['GET', '/b?analytics', 'GetUnsetConfiguration'],
    ['GET', '/b?inventory&id=a', 'GetUnsetConfiguration'],
    ['PUT', '/b?inventory&id=a', 'NotImplemented'],
    ['DELETE', '/b?metadataTable', 'NotImplemented'],
    ['GET', '/b/k?analytics', 'NotImplemented'],
    ['GET', '/b/k?retention', 'GetObjectRetention'],
    ['PUT', '/b/k?retention', 'PutObjectRetention'],
    ['DELETE', '/b/k?retention', 'NotImplemented'],
    ['GET', '/b?retention', 'NotImplemented'],
    ['GET', '/b?list-type=3', 'InvalidArgument'],
    ['DELETE', '/b?policy', 'DeleteBucketPolicy'],
    ['POST', '/b?acl', 'MethodNotAllowed'],
    ['PUT', '/b/k', 'PutObject'],
    ['PUT', '/b/k?uploadId=u&partNumber=1', 'UploadPart'],
    ['GET', '/b/k?uploadId=u', 'ListParts'],
    ['POST', '/b/k?uploads', 'CreateMultipartUpload'],
    ['POST', '/b/k?uploadId=u', 'CompleteMultipartUpload'],
    ['DELETE', '/b/k?uploadId=u', 'AbortMultipartUpload'],
    ['POST', '/b/k', 'MethodNotAllowed'],
    ['GET', '/b/k?attributes', 'GetObjectAttributes'],
    ['GET', '/b/k?torrent', 'NotImplemented'],
    ['OPTIONS', '/b/k', 'PreflightObject'],
    // Writes must refuse unknown query names, and names of other operations.
    ['PUT', '/b/k?foo', 'NotImplemented'],
    ['PUT', '/b/k?foo=', 'NotImplemented'],
    ['PUT', '/b/k?acl&foo', 'NotImplemented'],
    ['PUT', '/b/k?encryption', 'NotImplemented'],
    ['PUT', '/b/k?cors=x', 'NotImplemented'],
    ['PUT', '/b?foo', 'NotImplemented'],
    ['POST', '/b?foo', 'NotImplemented'],
    ['POST', '/b/k?uploads&foo', 'NotImplemented'],
    ['GET', '/b?website', 'GetBucketWebsite'],
    ['PUT', '/b?website', 'PutBucketWebsite'],
    ['DELETE', '/b?website', 'DeleteBucketWebsite'],
    ['POST', '/b?website', 'MethodNotAllowed'],
    ['POST', '/b?lifecycle', 'MethodNotAllowed'],
    ['DELETE', '/b/k?encryption', 'NotImplemented'],
    ['DELETE', '/b/k?policy', 'NotImplemented'],
    ['DELETE', '/b?policy&cors', 'NotImplemented'],
    ['DELETE', '/b?foo', 'NotImplemented'],
    ['DELETE', '/b?lifecycle&foo', 'NotImplemented'],
    ['DELETE', '/b?abac', 'DeleteUnsetConfiguration'],
    ['DELETE', '/b?versionId=v', 'InvalidRequest'],
    ['DELETE', '/b?uploadId=u', 'InvalidRequest'],
    ['PUT', '/b?partNumber=1&uploadId=u', 'InvalidRequest'],
    ['HEAD', '/b/k?annotation', 'NotImplemented'],
    ['GET', '/b?metadataInventoryTable', 'NotImplemented'],
    // Unknown query names with a value are ignored, and so are unknown names on reads.
    ['PUT', '/b/k?x-id=PutObject&foo=bar', 'PutObject'],
    ['PUT', '/b/k?x-log-me', 'PutObject'],
    ['DELETE', '/b/k?versionId=&x-id=DeleteObject', 'DeleteObject'],
    ['DELETE', '/b/k?tagging&versionId=v', 'DeleteObjectTagging'],
    ['POST', '/b/k?uploads=', 'CreateMultipartUpload'],
    ['GET', '/b/k?foo', 'GetObject'],
    ['HEAD', '/b?foo', 'HeadBucket'],
  ])('of %s %s is %s', (method, target, action) => {
    expect(actionOf(method, target)).toBe(action);
  });
  it('is a copy if a source is named', () => {
    expect(actionOf('PUT', '/b/k', { 'x-amz-copy-source': '/a/b' })).toBe('CopyObject');
    expect(actionOf('PUT', '/b/k?uploadId=u&partNumber=1', { 'x-amz-copy-source': '/a/b' })).toBe('UploadPartCopy');
  });
});

describe('headers that a presigner moved into the query', () => {
  const hoist = (target: string, headers: Record<string, string> = {}) => {
    const request = parse('PUT', target, headers);
    if (typeof request === 'string') throw new Error(request);
    return withHoistedHeaders(request);
  };
  const SIGNED = 'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00&X-Amz-SignedHeaders=host';

  it('count as headers if the signature covers them', () => {
    const { headers, headerNames } = hoist(`/b/k?${SIGNED}&x-amz-meta-colour=sky%20blue&X-Amz-Acl=public-read`);
    expect([headers.get('x-amz-meta-colour'), headers.get('x-amz-acl')]).toEqual(['sky blue', 'public-read']);
    expect(headerNames).toContain('x-amz-meta-colour');
    expect(hoist('/b/k?x-amz-acl=public-read').headers.get('x-amz-acl')).toBeNull();
  });

  it('count as headers in a SigV2 link too', () => {
    const { headers } = hoist('/b/k?AWSAccessKeyId=a&Signature=s&Expires=1&x-amz-acl=private');
    expect(headers.get('x-amz-acl')).toBe('private');
  });

  it('bring no customer-provided key, and are refused if it is in the link, instead of storing without it', () => {
    const prefix = 'x-amz-server-side-encryption-customer-';
    const key = Buffer.alloc(32, 7);
    const md5 = createHash('md5').update(key).digest('base64');
    const sent = {
      [`${prefix}algorithm`]: 'AES256',
      [`${prefix}key`]: key.toString('base64'),
      [`${prefix}key-md5`]: md5,
    };
    for (const link of [SIGNED, 'AWSAccessKeyId=a&Signature=s&Expires=1']) {
      const { headers } = hoist(`/b/k?${link}&${new URLSearchParams(sent)}`);
      expect(headers.get(`${prefix}key`)).toBeNull();
      expect(parseCustomerKey(headers)).toMatchObject({ ok: false, error: { code: 'InvalidArgument' } });
      const both = hoist(`/b/k?${link}&${prefix}algorithm=AES256`, sent);
      expect(parseCustomerKey(both.headers)).toMatchObject({ ok: true, value: { md5 } });
    }
  });

  it('do not replace sent headers, and cannot inject line breaks', () => {
    const { headers, headerNames } = hoist(`/b/k?${SIGNED}&x-amz-acl=private&x-amz-meta-a=1%0d%0a2`, {
      'x-amz-acl': 'public-read',
    });
    expect(headers.get('x-amz-acl')).toBe('public-read');
    expect(headerNames.filter((name) => name.startsWith('x-amz-'))).toEqual(['x-amz-acl']);
  });

  it('bind the body to a checksum, unless it is the checksum of an empty body', () => {
    expect(hoist(`/b/k?${SIGNED}&x-amz-checksum-crc32=AAAAAA==`).headerNames).not.toContain('x-amz-checksum-crc32');
    expect(hoist(`/b/k?${SIGNED}&x-amz-checksum-crc32=NSRBwg==`).headers.get('x-amz-checksum-crc32')).toBe('NSRBwg==');
  });

  it('turn an empty upload into a copy', () => {
    const { headers } = hoist(`/b/k?${SIGNED}&x-amz-copy-source=b%2Fother`);
    expect(headers.get('x-amz-copy-source')).toBe('b/other');
  });
});
