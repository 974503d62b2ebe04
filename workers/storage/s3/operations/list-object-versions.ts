import { err } from '../../../shared/pure/result.ts';
import { invalidArgument } from '../../domain/failure.ts';
import type { Listed, ListedVersion } from '../../engine/model/contract.ts';
import { toKeyXml, toObjectXml, toPrefixElement, toVersionOwner } from '../objects/list-objects-page.ts';
import { parseListing, toStart } from '../objects/list-parameters.ts';
import { shownVersionId } from '../objects/object-headers.ts';
import { parseVersionId } from '../objects/object-version.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';

const EMPTY = { ok: true, value: { entries: [], next: null, nextVersion: null }, proof: 'open' } as const;

export const listObjectVersions: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: onBucket('ListBucketVersions', 'READ'),
  async run({ request, bucket, engine }) {
    const parameters = parseListing(request, 'max-keys');
    if (!parameters.ok) return parameters;
    const { prefix, delimiter, limit, show, isUrlEncoded } = parameters.value;
    const keyMarker = request.query.get('key-marker') ?? '';
    const versionMarker = request.query.get('version-id-marker') ?? '';
    if (versionMarker !== '' && keyMarker === '') {
      const message = 'A version-id marker cannot be specified without a key marker.';
      return err(invalidArgument('version-id-marker', versionMarker, message));
    }
    const after = parseVersionId(versionMarker === '' ? undefined : versionMarker);
    if (!after.ok) return after;
    const from = after.value === undefined ? toStart(keyMarker, prefix, delimiter) : keyMarker;
    const page =
      limit === 0 || from === null
        ? EMPTY
        : await engine.listVersions({
            bucket,
            prefix,
            delimiter,
            limit,
            from,
            ...(after.value === undefined ? {} : { versionsAfter: after.value }),
          });
    if (!page.ok) return toFailure(page);
    const { entries, next } = page.value;
    const marker = next === null ? null : toMarker(entries.at(-1));
    return {
      ok: true,
      value: xmlAnswer('ListVersionsResult', [
        element('Name', bucket.name),
        element('Prefix', show(prefix)),
        element('KeyMarker', show(keyMarker)),
        element('VersionIdMarker', versionMarker),
        element('NextKeyMarker', marker && show(marker.key)),
        element('NextVersionIdMarker', marker?.versionId),
        element('MaxKeys', limit),
        element('Delimiter', delimiter === '' ? null : show(delimiter)),
        element('EncodingType', isUrlEncoded ? 'url' : null),
        element('IsTruncated', next !== null),
        ...entries.flatMap((entry) => (entry.kind === 'item' ? [toVersionElement(entry.item, show)] : [])),
        ...entries.flatMap((entry) => (entry.kind === 'prefix' ? [toPrefixElement(entry.prefix, show)] : [])),
      ]),
      proof: page.proof,
    };
  },
};

/** The marker of the next page: the last entry of this page. */
function toMarker(last: Listed<ListedVersion> | undefined): { key: string; versionId: string | null } | null {
  if (!last) return null;
  if (last.kind === 'prefix') return { key: last.prefix, versionId: null };
  return { key: last.item.name, versionId: shownVersionId(last.item) };
}

function toVersionElement(version: ListedVersion, show: (name: string) => string): XmlNode {
  const id = `<VersionId>${shownVersionId(version)}</VersionId><IsLatest>${version.isLatest}</IsLatest>`;
  const head = `${toKeyXml(show(version.name))}${id}`;
  if (!version.isMarker) return { xml: `<Version>${head}${toObjectXml(version, true)}</Version>` };
  const modified = element('LastModified', new Date(version.modifiedAt).toISOString());
  return element('DeleteMarker', [{ xml: head }, modified, toVersionOwner(version)]);
}
