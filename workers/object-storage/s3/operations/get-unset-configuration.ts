import { err, ok } from '../../../shared/result.ts';
import type { S3ErrorCode } from '../../domain/error-codes.ts';
import { s3Failure } from '../../domain/failure.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { UNSET_CONFIGURATIONS } from '../protocol/detect.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

type Name = (typeof UNSET_CONFIGURATIONS)[number];

/** S3's answer for an unset configuration: an error code of its own, or a document with the defaults. */
const ANSWERS: Readonly<Record<Name, S3ErrorCode | (() => Response)>> = {
  abac: () => xmlAnswer('AbacStatus', element('Status', 'Disabled')),
  accelerate: () => xmlAnswer('AccelerateConfiguration', ''),
  encryption: () =>
    // Every location encrypts at rest with AES-256, which is S3's default answer.
    xmlAnswer(
      'ServerSideEncryptionConfiguration',
      element('Rule', [
        element('ApplyServerSideEncryptionByDefault', element('SSEAlgorithm', 'AES256')),
        element('BucketKeyEnabled', false),
      ]),
    ),
  lifecycle: 'NoSuchLifecycleConfiguration',
  logging: () => xmlAnswer('BucketLoggingStatus', ''),
  metadataConfiguration: 'MetadataConfigurationNotFound',
  notification: () => xmlAnswer('NotificationConfiguration', ''),
  'object-lock': 'ObjectLockConfigurationNotFoundError',
  replication: 'ReplicationConfigurationNotFoundError',
  requestPayment: () => xmlAnswer('RequestPaymentConfiguration', element('Payer', 'BucketOwner')),
  website: 'NoSuchWebsiteConfiguration',
};

export const getUnsetConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketConfiguration'),
  async run({ request }) {
    const name = UNSET_CONFIGURATIONS.find((candidate) => request.query.has(candidate));
    const answer = name === undefined ? 'NotImplemented' : ANSWERS[name];
    return typeof answer === 'string' ? err(s3Failure(answer)) : ok(answer());
  },
};
