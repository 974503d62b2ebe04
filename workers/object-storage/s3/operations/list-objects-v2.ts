import { err, ok } from '../../../shared/result.ts';
import { invalidArgument } from '../../domain/failure.ts';
import { readPage, toEntries } from '../objects/list-objects-page.ts';
import { parseListing, toStart } from '../objects/list-parameters.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

export const listObjectsV2: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: onBucket('ListBucket', 'READ'),
  async run(context) {
    const { request, bucket } = context;
    const parameters = parseListing(request, 'max-keys');
    if (!parameters.ok) return parameters;
    const { prefix, delimiter, limit, show, isUrlEncoded } = parameters.value;
    const startAfter = request.query.get('start-after');
    const token = request.query.get('continuation-token');
    const resumed = token ? decodeToken(token) : null;
    if (token && resumed === null) {
      return err(invalidArgument('continuation-token', token, 'The continuation token provided is incorrect'));
    }
    const from = resumed ?? toStart(startAfter ?? '', prefix, delimiter);
    const page = await readPage(context, parameters.value, from);
    if (!page.ok) return page;
    const { entries, next } = page.value;
    return ok(
      xmlAnswer('ListBucketResult', [
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
    );
  },
};

/**
 * The continuation token: the name at which the next page begins, with a prefix that marks tokens of this service. It is opaque to
 * clients.
 */
const encodeToken = (from: string): string => `1${Buffer.from(from).toString('base64url')}`;

function decodeToken(token: string): string | null {
  const bytes = Buffer.from(token.slice(1), 'base64url');
  return token.startsWith('1') && encodeToken(bytes.toString()) === token ? bytes.toString() : null;
}
