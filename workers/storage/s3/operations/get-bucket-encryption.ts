import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { encryptionTextOf } from '../access/bucket-configuration.ts';
import { readEncryption, toEncryptionElements } from '../documents/encryption-document.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const getBucketEncryption: Operation = {
  needs: 'bucket',
  permission: onBucket('GetEncryptionConfiguration'),
  async run({ bucket }) {
    const encryption = readEncryption(encryptionTextOf(bucket));
    if (encryption === null) return err(s3Failure('ServerSideEncryptionConfigurationNotFoundError'));
    return ok(xmlAnswer('ServerSideEncryptionConfiguration', toEncryptionElements(encryption)));
  },
};
