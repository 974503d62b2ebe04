/**
 * Query names that select an operation in Amazon S3's public API (the names without a value in the model of
 * `@aws-sdk/client-s3` 3.1169.0, and `torrent`).
 *
 * Two rules share this list, so that they cannot differ: the router selects operations by these names only, and a
 * SigV2 signature covers all of them. A link can therefore never be turned into a link for another operation.
 */
export const S3_SUBRESOURCES = [
  'abac',
  'accelerate',
  'acl',
  'analytics',
  'annotation',
  'attributes',
  'cors',
  'delete',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metadataAnnotationTable',
  'metadataConfiguration',
  'metadataInventoryTable',
  'metadataJournalTable',
  'metadataTable',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'renameObject',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'session',
  'tagging',
  'torrent',
  'uploads',
  'versioning',
  'versions',
  'website',
] as const;

export type S3Subresource = (typeof S3_SUBRESOURCES)[number];
