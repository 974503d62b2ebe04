import { err, ok } from '../../shared/result.ts';
import { xmlAnswer } from '../answer.ts';
import { tagsOf } from '../bucket-configuration.ts';
import { s3Failure } from '../domain/failure.ts';
import { toTagSet } from '../tag-document.ts';
import { type Operation, onBucket } from './operation.ts';

export const getBucketTagging: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketTagging'),
  async run({ bucket }) {
    const tags = tagsOf(bucket);
    return tags ? ok(xmlAnswer('Tagging', toTagSet(tags))) : err(s3Failure('NoSuchTagSet'));
  },
};
