import { ok } from '../../../shared/pure/result.ts';
import { beginPage, readPage, toEntries } from '../objects/list-objects-page.ts';
import { parseListing, toStart } from '../objects/list-parameters.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import type { S3Request } from '../protocol/request.ts';
import { element } from '../protocol/xml.ts';

export const listObjects: Operation = {
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
    const { prefix, delimiter, limit, show, isUrlEncoded, marker } = asked.value;
    const page = await readPage(context, asked.value);
    if (!page.ok) return page;
    const { entries, next } = page.value;
    const last = entries.at(-1);
    const lastName = last?.kind === 'item' ? last.item.name : last?.prefix;
    return {
      ok: true,
      proof: page.proof,
      value: xmlAnswer('ListBucketResult', [
        element('Name', bucket.name),
        // The prefix is not encoded in the answer, because AWS's own clients do not decode it in ListObjects.
        element('Prefix', prefix),
        element('Marker', show(marker)),
        // Without a delimiter S3 omits NextMarker, and clients use the last key as the next marker.
        element('NextMarker', next !== null && delimiter !== '' && lastName !== undefined ? show(lastName) : null),
        element('MaxKeys', limit),
        element('Delimiter', delimiter === '' ? null : show(delimiter)),
        element('EncodingType', isUrlEncoded ? 'url' : null),
        element('IsTruncated', next !== null),
        ...toEntries(entries, show, true),
      ]),
    };
  },
};

function parseRequest(request: S3Request) {
  const parameters = parseListing(request, 'max-keys');
  if (!parameters.ok) return parameters;
  const { prefix, delimiter } = parameters.value;
  const marker = request.query.get('marker') ?? '';
  return ok({ ...parameters.value, marker, from: toStart(marker, prefix, delimiter) });
}
