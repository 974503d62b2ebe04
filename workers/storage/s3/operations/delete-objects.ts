import { at } from '../../../shared/pure/at.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { CHECKSUM_ALGORITHMS, toChecksumHeader } from '../../domain/checksums.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { checkKey } from '../../domain/naming.ts';
import type { DeleteItem, DeleteOutcome, Proven } from '../../engine/model/contract.ts';
import { LIST_BYTES_MAX, readDocument } from '../bodies/document-body.ts';
import { settleMissing, toDeleteCondition } from '../objects/delete-conditions.ts';
import { bypassesGovernance } from '../objects/object-lock.ts';
import { mayCompare } from '../objects/object-upload.ts';
import { parseVersionId } from '../objects/object-version.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import type { BucketContext, Operation } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { childrenOf, parseXmlList, textOf, type XmlElement } from '../protocol/xml-parser.ts';

/** Maximum number of keys per request (DeleteObjects: "The request can contain a list of up to 1,000 keys"). */
const KEYS_MAX = 1000;

const OBJECTS = { rootName: 'Delete', itemName: 'Object', itemsMax: KEYS_MAX };

/** One entry of a DeleteObjects request: the item to delete, or the error of the entry. */
interface Entry {
  readonly key: string;
  readonly versionId: string | null;
  readonly item: Result<DeleteItem, S3Failure>;
}

export const deleteObjects: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => null,
  async run(context) {
    const { request, caller, bucket } = context;
    if (caller.principal === null) {
      return err(s3Failure('AccessDenied', 'Anonymous access is forbidden for this operation'));
    }
    const hasDigest = ['content-md5', ...CHECKSUM_ALGORITHMS.map(toChecksumHeader)].some((name) =>
      request.headers.has(name),
    );
    if (!hasDigest && !request.headers.has('x-amz-trailer')) {
      return err(
        s3Failure('InvalidRequest', 'Missing required header for this request: Content-MD5 OR x-amz-checksum-*'),
      );
    }
    const text = await readDocument(request, caller.payload, LIST_BYTES_MAX);
    if (!text.ok) return text;
    const root = await parseXmlList(text.value, OBJECTS);
    if (!root.ok) return root;
    const objects = childrenOf(root.value, 'Object');
    if (objects.length === 0 || objects.length > KEYS_MAX) return err(s3Failure('MalformedXML'));
    const keys = objects.map((object) => textOf(object, 'Key'));
    if (keys.includes(null)) return err(s3Failure('MalformedXML'));
    const deleted = await deleteEach(context, objects);
    if (!deleted.ok) return deleted;
    const isQuiet = textOf(root.value, 'Quiet')?.trim().toLowerCase() === 'true';
    const nodes = deleted.value.map(({ entry, outcome }) => {
      if (!outcome.ok) return toErrorNode(entry, outcome.error);
      return isQuiet ? { xml: '' } : toDeletedNode(entry, outcome.value, bucket.versioning === 'never');
    });
    return { ok: true, value: xmlAnswer('DeleteResult', nodes), proof: proofOf(deleted.value) };
  },
};

interface Deleted {
  readonly entry: Entry;
  readonly outcome: Proven<DeleteOutcome, S3Failure>;
}

/** Whether the item was not decided because a revocation or a change of the bucket overtook it. */
const isOpen = ({ outcome }: Deleted): boolean => !outcome.ok && outcome.proof === 'refused';

/** What the deletes of all items proved. Items that were refused before the engine was asked prove nothing. */
const proofOf = (deleted: readonly Deleted[]): 'held' | 'open' =>
  deleted.some(({ outcome }) => outcome.proof === 'held') ? 'held' : 'open';

/**
 * Deletes the listed objects. Items that a revocation overtook are authorised again, alone, because the others may be deleted.
 * @returns an error if the caller lost the right before anything was decided.
 */
async function deleteEach(
  context: BucketContext,
  objects: readonly XmlElement[],
): Promise<Result<readonly Deleted[], S3Failure>> {
  const deleted = await deleteOnce(context, objects);
  const open = deleted.flatMap((each, index) => (isOpen(each) ? [index] : []));
  if (open.length === 0 || !context.renew) return ok(deleted);
  const renewed = await context.renew();
  const rest = open.flatMap((index) => objects[index] ?? []);
  const next = renewed.ok ? await deleteEach({ ...renewed.value, renew: context.renew }, rest) : renewed;
  const isUntouched = deleted.every((each) => isOpen(each) || !each.entry.item.ok);
  if (!next.ok && isUntouched) return next;
  const later = new Map(open.map((index, at) => [index, next.ok ? next.value[at] : undefined]));
  return ok(
    deleted.map((each, index) => {
      if (!isOpen(each)) return each;
      return later.get(index) ?? (next.ok ? each : { ...each, outcome: next });
    }),
  );
}

/** Deletes the listed objects with one authorisation. */
async function deleteOnce(context: BucketContext, objects: readonly XmlElement[]): Promise<readonly Deleted[]> {
  const { engine, bucket } = context;
  const entries = objects.map((object) => readEntry(context, object, textOf(object, 'Key') ?? ''));
  const items = entries.flatMap(({ item }) => (item.ok ? [item.value] : []));
  const decided = items.length === 0 ? [] : await engine.deleteObjects(bucket, items);
  const outcomes = await Promise.all(decided.map((outcome, i) => settleMissing(engine, bucket, at(items, i), outcome)));
  let next = 0;
  return entries.map((entry) => {
    if (!entry.item.ok) return { entry, outcome: entry.item };
    const outcome = at(outcomes, next++);
    return { entry, outcome: outcome.ok ? outcome : toFailure(outcome) };
  });
}

function readEntry(context: BucketContext, object: XmlElement, key: string): Entry {
  const given = textOf(object, 'VersionId');
  const item = ((): Result<DeleteItem, S3Failure> => {
    if (key === '') return err(s3Failure('UserKeyMustBeSpecified'));
    const checked = checkKey(key);
    if (!checked.ok) return checked;
    const versionId = parseVersionId(given ?? undefined);
    if (!versionId.ok) return err(s3Failure('NoSuchVersion'));
    const isAllowed = context.may({
      action: given === null ? 'DeleteObject' : 'DeleteObjectVersion',
      key,
      acl: { of: 'bucket', permission: 'WRITE' },
      bucket: context.bucket,
      caller: context.caller,
    });
    if (!isAllowed) return err(s3Failure('AccessDenied'));
    if (!mayCompare(context, key, textOf(object, 'ETag'))) return err(s3Failure('AccessDenied'));
    const condition = toDeleteCondition(
      textOf(object, 'ETag'),
      textOf(object, 'LastModifiedTime'),
      textOf(object, 'Size'),
    );
    if (!condition.ok) return condition;
    return ok({
      name: key,
      bypassesGovernance: bypassesGovernance(context, key),
      ...(versionId.value === undefined ? {} : { versionId: versionId.value }),
      ...condition.value,
    });
  })();
  return { key, versionId: given, item };
}

function toErrorNode({ key, versionId }: Entry, failure: S3Failure): XmlNode {
  return element('Error', [
    element('Key', key),
    element('VersionId', versionId),
    element('Code', failure.code),
    element('Message', failure.message),
  ]);
}

function toDeletedNode({ key, versionId }: Entry, outcome: DeleteOutcome, isNeverVersioned: boolean): XmlNode {
  const shown = outcome.versionId === null || isNeverVersioned ? null : outcome.isNull ? 'null' : outcome.versionId;
  return element('Deleted', [
    element('Key', key),
    element('VersionId', versionId),
    element('DeleteMarker', outcome.isMarker ? true : null),
    element('DeleteMarkerVersionId', outcome.isMarker ? shown : null),
  ]);
}
