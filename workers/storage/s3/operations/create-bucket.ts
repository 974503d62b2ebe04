import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { ObjectOwnership } from '../../domain/access.ts';
import type { Owner } from '../../domain/acl.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import { isBucketName } from '../../domain/naming.ts';
import { BUCKET_TAGS_MAX, type Tag } from '../../domain/tagging.ts';
import type { Bucket } from '../../engine/model/contract.ts';
import { mayUseService } from '../access/authorise.ts';
import { readDocument } from '../bodies/document-body.ts';
import { hasAclHeaders, parseAclHeaders, readAcl, serializeAcl } from '../documents/acl-document.ts';
import { readTags } from '../documents/tag-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import type { Operation, ServiceContext } from '../protocol/operation.ts';
import { childOf, parseXml, textOf } from '../protocol/xml-parser.ts';

const OWNERSHIPS: readonly string[] = ['BucketOwnerEnforced', 'BucketOwnerPreferred', 'ObjectWriter'];

export const createBucket: Operation = {
  needs: 'service',
  async run(context) {
    const { request, caller, engine, now } = context;
    const name = request.bucket;
    if (caller.principal === null || !mayUseService('CreateBucket', `arn:aws:s3:::${name}`, caller, request, now)) {
      return err(s3Failure('AccessDenied'));
    }
    if (!isBucketName(name)) return err(s3Failure('InvalidBucketName', undefined, { details: { BucketName: name } }));
    if ((request.headers.get('x-amz-bucket-namespace') ?? 'global') !== 'global') {
      return err(s3Failure('NotImplemented', 'Bucket names are global here.'));
    }
    const document = await readBody(context);
    if (!document.ok) return document;
    const { region, tags } = document.value;
    const owner: Owner = { id: caller.principal.userId, displayName: caller.principal.name };
    const isLocked = request.headers.get('x-amz-bucket-object-lock-enabled')?.toLowerCase() === 'true';
    const configuration = await readConfiguration(context, owner);
    if (!configuration.ok) return configuration;
    const created = await engine.createBucket({
      name,
      ownerId: owner.id,
      region,
      // A bucket with Object Lock gets versioning, because Object Lock requires it (CreateBucket).
      versioning: isLocked ? 'enabled' : 'never',
      configuration: {
        ...configuration.value,
        ...(isLocked ? { objectLock: JSON.stringify({ defaultRetention: null }) } : {}),
        ...(tags.length === 0 ? {} : { tagging: JSON.stringify(tags) }),
      },
    });
    if (created.ok) return ok(bucketAnswer(created.value));
    if (created.error.kind !== 'bucket_exists') return err(toS3Error(created.error));
    if (created.error.ownerId !== owner.id) return err(toS3Error(created.error));
    // In us-east-1, creating a bucket that the caller already owns succeeds and resets its ACL (CreateBucket,
    // "BucketAlreadyOwnedByYou").
    const existing = await engine.getBucket(name);
    if (!existing.ok) return err(toS3Error(existing.error));
    if (configuration.value.acl !== undefined) {
      const set = await engine.setConfiguration(existing.value, 'acl', configuration.value.acl);
      if (!set.ok) return err(toS3Error(set.error));
    }
    return ok(bucketAnswer(existing.value));
  },
};

const bucketAnswer = (bucket: Bucket): Response =>
  emptyAnswer(200, {
    location: `/${bucket.name}`,
    'x-bucket-id': bucket.bucketId,
    'x-amz-bucket-arn': `arn:aws:s3:::${bucket.name}`,
  });

interface BucketDocument {
  /** Requested region; any name is accepted. Null if the client requests none. */
  readonly region: string | null;
  readonly tags: readonly Tag[];
}

async function readBody({ request, caller }: ServiceContext): Promise<Result<BucketDocument, S3Failure>> {
  const nothing = ok({ region: null, tags: [] });
  // Some clients send CreateBucket with neither a body nor a length.
  if (request.body === null || request.headers.get('content-length') === '0') return nothing;
  const text = await readDocument(request, caller.payload);
  if (!text.ok) return text;
  if (text.value.trim() === '') return nothing;
  const root = parseXml(text.value, 'CreateBucketConfiguration');
  if (!root.ok) return root;
  const region = textOf(root.value, 'LocationConstraint')?.trim() ?? '';
  if (!/^[A-Za-z0-9:._-]{0,64}$/.test(region)) return err(s3Failure('InvalidLocationConstraint'));
  if (['Bucket', 'Location'].some((name) => childOf(root.value, name) !== null)) {
    return err(s3Failure('NotImplemented', 'Directory buckets are not implemented.'));
  }
  const set = childOf(root.value, 'Tags');
  const tags = set ? readTags(set, BUCKET_TAGS_MAX) : ok([]);
  return tags.ok ? ok({ region: region === '' ? null : region, tags: tags.value }) : tags;
}

async function readConfiguration(
  { request, users }: ServiceContext,
  owner: Owner,
): Promise<Result<Record<string, string>, S3Failure>> {
  const ownership = request.headers.get('x-amz-object-ownership');
  if (ownership !== null && !OWNERSHIPS.includes(ownership)) {
    return err(
      invalidArgument('x-amz-object-ownership', ownership, `Invalid x-amz-object-ownership header: ${ownership}`),
    );
  }
  const acl = await parseAclHeaders(request.headers, owner, owner, users);
  if (!acl.ok) return acl;
  if ((ownership as ObjectOwnership | null) === 'BucketOwnerEnforced' && hasAclHeaders(request.headers)) {
    if (request.headers.get('x-amz-acl') !== 'private') return err(s3Failure('InvalidBucketAclWithObjectOwnership'));
  }
  return ok({
    acl: serializeAcl(acl.value ?? readAcl(null, owner)),
    ...(ownership === null ? {} : { ownership }),
  });
}
