import { err, ok } from '../../../shared/pure/result.ts';
import { invalidArgument } from '../../domain/failure.ts';
import { beginPage, readPage, toEntries } from '../objects/list-objects-page.ts';
import { parseListing, toStart } from '../objects/list-parameters.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import type { S3Request } from '../protocol/request.ts';
import { element } from '../protocol/xml.ts';

export const listObjectsV2: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: onBucket('ListBucket', 'READ'),
  begin(request, engine) {
    const asked = parseRequest(request);
    if (asked.ok) beginPage(engine, request.bucket, asked.value);
  },
  async run(context) {
    const { request, bucket } = context;
    const asked = parseRequest(request);
    if (!asked.ok) return asked;
    const { prefix, delimiter, limit, show, isUrlEncoded, startAfter, token } = asked.value;
    const page = await readPage(context, asked.value);
    if (!page.ok) return page;
    const { entries, next } = page.value;
    return {
      ok: true,
      proof: page.proof,
      value: xmlAnswer('ListBucketResult', [
        element('Name', bucket.name),
        element('Prefix', show(prefix)),
        element('Delimiter', delimiter === '' ? null : show(delimiter)),
        element('StartAfter', startAfter === undefined ? null : show(startAfter)),
        element('MaxKeys', limit),
        element('EncodingType', isUrlEncoded ? 'url' : null),
        element('KeyCount', entries.length),
        element('IsTruncated', next !== null),
        element('ContinuationToken', token),
        element('NextContinuationToken', next === null ? null : encodeToken(next)),
        ...toEntries(entries, show, request.query.get('fetch-owner')?.toLowerCase() === 'true'),
      ]),
    };
  },
};

function parseRequest(request: S3Request) {
  const parameters = parseListing(request, 'max-keys');
  if (!parameters.ok) return parameters;
  const { prefix, delimiter } = parameters.value;
  const startAfter = request.query.get('start-after');
  const token = request.query.get('continuation-token');
  const resumed = token ? decodeToken(token) : null;
  if (token && resumed === null) {
    return err(invalidArgument('continuation-token', token, 'The continuation token provided is incorrect'));
  }
  const from = resumed ?? toStart(startAfter ?? '', prefix, delimiter);
  return ok({ ...parameters.value, startAfter, token, from });
}

/**
 * The continuation token: the name at which the next page begins, with a prefix that marks tokens of this service. It is opaque to
 * clients.
 */
const encodeToken = (from: string): string => `1${Buffer.from(from).toString('base64url')}`;

function decodeToken(token: string): string | null {
  const bytes = Buffer.from(token.slice(1), 'base64url');
  return token.startsWith('1') && encodeToken(bytes.toString()) === token ? bytes.toString() : null;
}
