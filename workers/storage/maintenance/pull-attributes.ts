/** Reads what a version of another S3 server has besides its bytes: metadata, tags, ACL and lock, as far as the bucket here takes them. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { ACL_PERMISSIONS, GROUPS, type Grant, isPublicAcl, toCannedGrants } from '../domain/acl.ts';
import type { JobObstacle } from '../domain/jobs.ts';
import { isLockMode } from '../domain/object-lock.ts';
import { type SourceVersion, toPulledFrom } from '../domain/pulls.ts';
import { OBJECT_TAGS_MAX } from '../domain/tagging.ts';
import type { ObjectLock, ObjectMetadata, VersionAttributes } from '../engine/model/contract.ts';
import { objectLockOf, ownershipOf, publicAccessBlockOf } from '../s3/access/bucket-configuration.ts';
import { serializeAcl } from '../s3/documents/acl-document.ts';
import { parseTagDocument, toTagRecord } from '../s3/documents/tag-document.ts';
import { parseObjectMetadata } from '../s3/objects/object-headers.ts';
import { lockOf, mayPutPulled } from './job-rights.ts';
import type { JobScene } from './job-scene.ts';
import { readGrants, type Source } from './pull-source.ts';

export interface PullTask {
  readonly scene: JobScene;
  readonly source: Source;
  readonly version: SourceVersion;
  /** Name in the bucket here. */
  readonly name: string;
  /** Id of the version here that must still be the newest; null if there must be none. */
  readonly newest: string | null;
  /** Time at which a pull of many parts pauses, by `Date.now()`. */
  readonly until: number;
}

/** What the source's answer says about an object. */
export interface Described {
  readonly attributes: VersionAttributes;
  readonly lacks: readonly JobObstacle[];
}

const KEPT_HEADERS = [
  'content-type',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
  'x-amz-website-redirect-location',
];

/** Reads metadata, tags, ACL and lock of a version, and compares them with the rights of the job. */
export async function describe(task: PullTask, headers: Headers): Promise<Result<Described, JobObstacle>> {
  const { scene, version, name } = task;
  const { bucket, rights, context } = scene;
  const names = [...headers.keys()].filter((each) => each.startsWith('x-amz-meta-'));
  const readable = {
    get: (each: string) => (KEPT_HEADERS.includes(each) || names.includes(each) ? headers.get(each) : null),
  };
  const owner = rights.ownerIn(bucket);
  const metadata = parseObjectMetadata(readable, names, owner);
  if (!metadata.ok) return err('unreadable');
  const lacks: JobObstacle[] = [];
  const tags = await readTags(task, headers);
  if (tags === 'lacking') lacks.push('without_tags');
  const acl = await readAcl(task, owner);
  if (acl.isLacking) lacks.push('without_acl');
  const lock = readLock(headers);
  const takesLock = lock !== null && objectLockOf(bucket) !== null;
  if (lock !== null && !takesLock) lacks.push('without_lock');
  const kept: ObjectMetadata = {
    ...metadata.value,
    extra: { ...metadata.value.extra, pulled: toPulledFrom(version) },
  };
  const attributes: VersionAttributes = {
    metadata: kept,
    tags: tags === 'lacking' ? null : tags,
    acl: acl.text,
    ...(takesLock ? { lock } : lockOf(bucket, context.now())),
  };
  return mayPutPulled(rights, bucket, name, { ...attributes, lock: takesLock ? lock : null })
    ? ok({ attributes, lacks })
    : err('denied');
}

async function readTags(
  { source, version }: PullTask,
  headers: Headers,
): Promise<Record<string, string> | null | 'lacking'> {
  if (Number(headers.get('x-amz-tagging-count') ?? 0) === 0) return null;
  const text = await source.document(version, 'tagging');
  const tags = text === null ? null : parseTagDocument(text, OBJECT_TAGS_MAX);
  return tags?.ok ? toTagRecord(tags.value) : 'lacking';
}

/** Reads an ACL. Grants to the owner and to groups are kept; users of the source are unknown here. */
async function readAcl(
  { scene: { bucket }, source, version }: PullTask,
  owner: { readonly id: string; readonly displayName: string | null },
): Promise<{ readonly text: string | null; readonly isLacking: boolean }> {
  // A bucket without ACLs takes none, so none is read.
  const isKept = ownershipOf(bucket) !== 'BucketOwnerEnforced' && (await source.hasAcls());
  if (!isKept) return { text: null, isLacking: false };
  const text = await source.document(version, 'acl');
  const grants = text === null ? null : readGrants(text);
  if (grants === null || (grants.groups.length === 0 && grants.others === 0)) return { text: null, isLacking: false };
  const groups = grants.groups.flatMap(([uri, name]): Grant[] => {
    const permission = ACL_PERMISSIONS.find((each) => each === name);
    return permission && GROUPS.includes(uri) ? [{ grantee: { kind: 'group', uri }, permission }] : [];
  });
  const acl = { owner, grants: [...toCannedGrants('private', owner, owner), ...groups] };
  const isBlocked = publicAccessBlockOf(bucket)?.blockPublicAcls === true && isPublicAcl(acl);
  return {
    text: groups.length > 0 && !isBlocked ? serializeAcl(acl) : null,
    isLacking: isBlocked || grants.others > 0,
  };
}

function readLock(headers: Headers): ObjectLock | null {
  const [mode, until, hold] = ['mode', 'retain-until-date', 'legal-hold'].map((name) =>
    headers.get(`x-amz-object-lock-${name}`),
  );
  const untilMs = Date.parse(until ?? '');
  const isRetained = isLockMode(mode ?? null) && !Number.isNaN(untilMs);
  if (!isRetained && !hold) return null;
  const isHeld = hold ? hold === 'ON' : null;
  return isRetained && isLockMode(mode ?? null)
    ? { mode: mode as 'GOVERNANCE' | 'COMPLIANCE', retainUntilMs: untilMs, isHeld }
    : { mode: null, retainUntilMs: null, isHeld };
}
