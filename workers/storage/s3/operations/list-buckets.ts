import { err, ok } from '../../../shared/pure/result.ts';
import { invalidArgument, s3Failure } from '../../domain/failure.ts';
import { mayUseService } from '../access/authorise.ts';
import { toOwnerElement } from '../documents/acl-document.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

/** Maximum value of `max-buckets`, as in S3 (ListBuckets). */
const BUCKETS_MAX = 10_000;

export const listBuckets: Operation = {
  needs: 'service',
  async run({ request, caller, engine, now }) {
    if (caller.principal === null || !mayUseService('ListAllMyBuckets', '*', caller, request, now)) {
      return err(s3Failure('AccessDenied'));
    }
    const limitText = request.query.get('max-buckets');
    const limit = limitText === undefined ? BUCKETS_MAX : Number(limitText);
    if (!Number.isInteger(limit) || limit < 1 || limit > BUCKETS_MAX) {
      return err(invalidArgument('max-buckets', limitText ?? '', 'max-buckets must be between 1 and 10000'));
    }
    const prefix = request.query.get('prefix');
    const token = request.query.get('continuation-token');
    const page = await engine.listBuckets({
      ownerId: caller.principal.userId,
      limit,
      ...(prefix === undefined ? {} : { prefix }),
      ...(token === undefined ? {} : { after: Buffer.from(token, 'base64url').toString() }),
    });
    if (!page.ok) return err(toS3Error(page.error));
    const { buckets, isTruncated } = page.value;
    const last = buckets.at(-1);
    return ok(
      xmlAnswer('ListAllMyBucketsResult', [
        toOwnerElement({ id: caller.principal.userId, displayName: caller.principal.name }),
        element(
          'Buckets',
          buckets.map((bucket) =>
            element('Bucket', [
              element('Name', bucket.name),
              element('CreationDate', new Date(bucket.createdAt).toISOString()),
              element('BucketRegion', bucket.region ?? (limitText === undefined ? null : 'us-east-1')),
            ]),
          ),
        ),
        element('ContinuationToken', isTruncated && last ? Buffer.from(last.name).toString('base64url') : null),
        element('Prefix', prefix),
      ]),
    );
  },
};
