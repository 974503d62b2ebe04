import { err, ok } from '../../../shared/pure/result.ts';
import type { S3ErrorCode } from '../../domain/error-codes.ts';
import { s3Failure } from '../../domain/failure.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { UNSET_CONFIGURATIONS, UNSET_READS } from '../protocol/detect.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import type { S3Request } from '../protocol/request.ts';
import { element } from '../protocol/xml.ts';

type Name = (typeof UNSET_CONFIGURATIONS)[number] | (typeof UNSET_READS)[number];

/**
 * The answer for a kind of configuration that a bucket can have several of: a request reads one by its `id`, or lists all.
 * @param root the root element of the list, which differs for each kind (API reference, "Response Syntax").
 */
function oneOfMany(root: string) {
  return ({ query }: S3Request) =>
    query.has('id') ? 'NoSuchConfiguration' : xmlAnswer(root, element('IsTruncated', false));
}

type Answer = S3ErrorCode | ((request: S3Request) => Response | S3ErrorCode);

/**
 * For each configuration, the permission to read it and S3's answer while it is unset: an error code, or a document with the
 * default values.
 */
const READS: Readonly<Record<Name, readonly [action: string, answer: Answer]>> = {
  abac: ['GetBucketAbac', () => xmlAnswer('AbacStatus', element('Status', 'Disabled'))],
  accelerate: ['GetAccelerateConfiguration', () => xmlAnswer('AccelerateConfiguration', '')],
  analytics: ['GetAnalyticsConfiguration', oneOfMany('ListBucketAnalyticsConfigurationResult')],
  'intelligent-tiering': [
    'GetIntelligentTieringConfiguration',
    oneOfMany('ListBucketIntelligentTieringConfigurationsOutput'),
  ],
  inventory: ['GetInventoryConfiguration', oneOfMany('ListInventoryConfigurationsResult')],
  logging: ['GetBucketLogging', () => xmlAnswer('BucketLoggingStatus', '')],
  metadataConfiguration: ['GetBucketMetadataTableConfiguration', 'MetadataConfigurationNotFound'],
  metadataTable: ['GetBucketMetadataTableConfiguration', 'MetadataConfigurationNotFound'],
  metrics: ['GetMetricsConfiguration', oneOfMany('ListMetricsConfigurationsResult')],
  replication: ['GetReplicationConfiguration', 'ReplicationConfigurationNotFoundError'],
  requestPayment: [
    'GetBucketRequestPayment',
    () => xmlAnswer('RequestPaymentConfiguration', element('Payer', 'BucketOwner')),
  ],
};

function readOf({ query }: Pick<S3Request, 'query'>) {
  const name = [...UNSET_CONFIGURATIONS, ...UNSET_READS].find((candidate) => query.has(candidate));
  if (name === undefined) throw new Error('a configuration was read without its name');
  return READS[name];
}

export const getUnsetConfiguration: Operation = {
  needs: 'bucket',
  permission: (request) => onBucket(readOf(request)[0])(),
  async run({ request }) {
    const [, known] = readOf(request);
    const answer = typeof known === 'string' ? known : known(request);
    return typeof answer === 'string' ? err(s3Failure(answer)) : ok(answer);
  },
};
