import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { objectLockOf } from '../access/bucket-configuration.ts';
import { readDocument } from '../bodies/document-body.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { parseXml, textOf } from '../protocol/xml-parser.ts';

export const putBucketVersioning: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketVersioning'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const root = parseXml(text.value, 'VersioningConfiguration');
    if (!root.ok) return root;
    const status = textOf(root.value, 'Status');
    if (textOf(root.value, 'MfaDelete') === 'Enabled') {
      return err(s3Failure('NotImplemented', 'MFA delete is not implemented.'));
    }
    if (status === null) return err(s3Failure('IllegalVersioningConfigurationException'));
    if (status !== 'Enabled' && status !== 'Suspended') return err(s3Failure('MalformedXML'));
    if (status === 'Suspended' && objectLockOf(bucket) !== null) {
      return err(
        s3Failure(
          'InvalidBucketState',
          'An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.',
        ),
      );
    }
    const set = await engine.setVersioning(bucket, status === 'Enabled' ? 'enabled' : 'suspended');
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
