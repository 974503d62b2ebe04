import { err, ok, type Result } from '../../shared/result.ts';
import { hasAclHeaders, parseAclHeaders, readAcl, serializeAcl } from '../acl-document.ts';
import { emptyAnswer } from '../answer.ts';
import { mayUseService } from '../authorise.ts';
import { readDocument } from '../document-body.ts';
import type { ObjectOwnership } from '../domain/access.ts';
import type { Owner } from '../domain/acl.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../domain/failure.ts';
import { isBucketName } from '../domain/naming.ts';
import type { Bucket } from '../engine/contract.ts';
import { toS3Error } from '../engine-failures.ts';
import { childOf, parseXml, textOf } from '../xml-parser.ts';
import type { Operation, ServiceContext } from './operation.ts';

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
    if (request.headers.get('x-amz-bucket-object-lock-enabled')?.toLowerCase() === 'true') {
      return err(s3Failure('NotImplemented', 'Object Lock is not implemented.'));
    }
    const region = await readLocation(context);
    if (!region.ok) return region;
    const owner: Owner = { id: caller.principal.userId, displayName: caller.principal.name };
    const configuration = await readConfiguration(context, owner);
    if (!configuration.ok) return configuration;
    const created = await engine.createBucket({
      name,
      ownerId: owner.id,
      region: region.value,
      configuration: configuration.value,
    });
    if (created.ok) return ok(bucketAnswer(created.value));
    if (created.error.kind !== 'bucket_exists') return err(toS3Error(created.error));
    if (created.error.ownerId !== owner.id) return err(toS3Error(created.error));
    // In us-east-1 creating one's own bucket again succeeds and resets its ACL (CreateBucket, "BucketAlreadyOwnedByYou").
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
  emptyAnswer(200, { location: `/${bucket.name}`, 'x-bucket-id': bucket.bucketId });

/** The location constraint; any name is a region here. */
async function readLocation({ request, caller }: ServiceContext): Promise<Result<string | null, S3Failure>> {
  // Some clients send this request with neither a body nor a length.
  if (request.body === null || request.headers.get('content-length') === '0') return ok(null);
  const text = await readDocument(request, caller.payload);
  if (!text.ok) return text;
  if (text.value.trim() === '') return ok(null);
  const root = parseXml(text.value, 'CreateBucketConfiguration');
  if (!root.ok) return root;
  const location = textOf(root.value, 'LocationConstraint')?.trim() ?? null;
  if (location !== null && !/^[A-Za-z0-9:._-]{0,64}$/.test(location))
    return err(s3Failure('InvalidLocationConstraint'));
  if (childOf(root.value, 'Bucket') !== null) {
    return err(s3Failure('NotImplemented', 'Directory buckets are not implemented.'));
  }
  return ok(location === '' ? null : location);
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
