import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { tagsOf } from '../access/bucket-configuration.ts';
import { toTagSet } from '../documents/tag-document.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const getBucketTagging: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketTagging'),
  async run({ bucket }) {
    const tags = tagsOf(bucket);
    return tags ? ok(xmlAnswer('Tagging', toTagSet(tags))) : err(s3Failure('NoSuchTagSet'));
  },
};
