import { err, ok } from '../../../shared/pure/result.ts';
import { BUCKET_TAGS_MAX } from '../../domain/tagging.ts';
import { readDocument } from '../bodies/document-body.ts';
import { parseTagDocument } from '../documents/tag-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { checkPublicCacheTag } from '../public-cache.ts';

export const putBucketTagging: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketTagging'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const tags = parseTagDocument(text.value, BUCKET_TAGS_MAX);
    if (!tags.ok) return tags;
    const checked = checkPublicCacheTag(tags.value);
    if (!checked.ok) return checked;
    const set = await engine.setConfiguration(bucket, 'tagging', JSON.stringify(tags.value));
    return set.ok ? ok(emptyAnswer(204)) : err(toS3Error(set.error));
  },
};
