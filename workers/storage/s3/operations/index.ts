/** The operation of every S3 action. TypeScript reports an action without one. */
import type { S3Action } from '../protocol/detect.ts';
import type { Operation } from '../protocol/operation.ts';
import { abortMultipartUpload } from './abort-multipart-upload.ts';
import { completeMultipartUpload } from './complete-multipart-upload.ts';
import { copyObject } from './copy-object.ts';
import { createBucket } from './create-bucket.ts';
import { createMultipartUpload } from './create-multipart-upload.ts';
import { deleteBucket } from './delete-bucket.ts';
import { deleteBucketCors } from './delete-bucket-cors.ts';
import { deleteBucketEncryption } from './delete-bucket-encryption.ts';
import { deleteBucketLifecycle } from './delete-bucket-lifecycle.ts';
import { deleteBucketOwnershipControls } from './delete-bucket-ownership-controls.ts';
import { deleteBucketPolicy } from './delete-bucket-policy.ts';
import { deleteBucketTagging } from './delete-bucket-tagging.ts';
import { deleteObject } from './delete-object.ts';
import { deleteObjectTagging } from './delete-object-tagging.ts';
import { deleteObjects } from './delete-objects.ts';
import { deletePublicAccessBlock } from './delete-public-access-block.ts';
import { getBucketAcl } from './get-bucket-acl.ts';
import { getBucketCors } from './get-bucket-cors.ts';
import { getBucketEncryption } from './get-bucket-encryption.ts';
import { getBucketLifecycleConfiguration } from './get-bucket-lifecycle-configuration.ts';
import { getBucketLocation } from './get-bucket-location.ts';
import { getBucketNotificationConfiguration } from './get-bucket-notification-configuration.ts';
import { getBucketOwnershipControls } from './get-bucket-ownership-controls.ts';
import { getBucketPolicy } from './get-bucket-policy.ts';
import { getBucketPolicyStatus } from './get-bucket-policy-status.ts';
import { getBucketTagging } from './get-bucket-tagging.ts';
import { getBucketVersioning } from './get-bucket-versioning.ts';
import { getObject } from './get-object.ts';
import { getObjectAcl } from './get-object-acl.ts';
import { getObjectAttributes } from './get-object-attributes.ts';
import { getObjectLockConfiguration } from './get-object-lock-configuration.ts';
import { getObjectLegalHold, getObjectRetention } from './get-object-retention.ts';
import { getObjectTagging } from './get-object-tagging.ts';
import { getPublicAccessBlock } from './get-public-access-block.ts';
import { getUnsetConfiguration } from './get-unset-configuration.ts';
import { headBucket } from './head-bucket.ts';
import { headObject } from './head-object.ts';
import { listBuckets } from './list-buckets.ts';
import { listMultipartUploads } from './list-multipart-uploads.ts';
import { listObjectVersions } from './list-object-versions.ts';
import { listObjects } from './list-objects.ts';
import { listObjectsV2 } from './list-objects-v2.ts';
import { listParts } from './list-parts.ts';
import { postObject } from './post-object.ts';
import { preflightObject } from './preflight-object.ts';
import { putBucketAcl } from './put-bucket-acl.ts';
import { putBucketCors } from './put-bucket-cors.ts';
import { putBucketEncryption } from './put-bucket-encryption.ts';
import { putBucketLifecycleConfiguration } from './put-bucket-lifecycle-configuration.ts';
import { putBucketNotificationConfiguration } from './put-bucket-notification-configuration.ts';
import { putBucketOwnershipControls } from './put-bucket-ownership-controls.ts';
import { putBucketPolicy } from './put-bucket-policy.ts';
import { putBucketTagging } from './put-bucket-tagging.ts';
import { putBucketVersioning } from './put-bucket-versioning.ts';
import { putObject } from './put-object.ts';
import { putObjectAcl } from './put-object-acl.ts';
import { putObjectLockConfiguration } from './put-object-lock-configuration.ts';
import { putObjectLegalHold, putObjectRetention } from './put-object-retention.ts';
import { putObjectTagging } from './put-object-tagging.ts';
import { putPublicAccessBlock } from './put-public-access-block.ts';
import { uploadPart } from './upload-part.ts';
import { uploadPartCopy } from './upload-part-copy.ts';
import { deleteUnsetConfiguration, putUnsetConfiguration } from './write-unset-configuration.ts';

export const OPERATIONS: Readonly<Record<S3Action, Operation>> = {
  AbortMultipartUpload: abortMultipartUpload,
  CompleteMultipartUpload: completeMultipartUpload,
  CopyObject: copyObject,
  CreateBucket: createBucket,
  CreateMultipartUpload: createMultipartUpload,
  DeleteBucket: deleteBucket,
  DeleteBucketCors: deleteBucketCors,
  DeleteBucketEncryption: deleteBucketEncryption,
  DeleteBucketLifecycle: deleteBucketLifecycle,
  DeleteBucketOwnershipControls: deleteBucketOwnershipControls,
  DeleteBucketPolicy: deleteBucketPolicy,
  DeleteBucketTagging: deleteBucketTagging,
  DeleteObject: deleteObject,
  DeleteObjectTagging: deleteObjectTagging,
  DeleteObjects: deleteObjects,
  DeletePublicAccessBlock: deletePublicAccessBlock,
  DeleteUnsetConfiguration: deleteUnsetConfiguration,
  GetBucketAcl: getBucketAcl,
  GetBucketCors: getBucketCors,
  GetBucketEncryption: getBucketEncryption,
  GetBucketLifecycleConfiguration: getBucketLifecycleConfiguration,
  GetBucketLocation: getBucketLocation,
  GetBucketNotificationConfiguration: getBucketNotificationConfiguration,
  GetBucketOwnershipControls: getBucketOwnershipControls,
  GetBucketPolicy: getBucketPolicy,
  GetBucketPolicyStatus: getBucketPolicyStatus,
  GetBucketTagging: getBucketTagging,
  GetBucketVersioning: getBucketVersioning,
  GetObject: getObject,
  GetObjectAcl: getObjectAcl,
  GetObjectAttributes: getObjectAttributes,
  GetObjectLegalHold: getObjectLegalHold,
  GetObjectLockConfiguration: getObjectLockConfiguration,
  GetObjectRetention: getObjectRetention,
  GetObjectTagging: getObjectTagging,
  GetPublicAccessBlock: getPublicAccessBlock,
  GetUnsetConfiguration: getUnsetConfiguration,
  HeadBucket: headBucket,
  HeadObject: headObject,
  ListBuckets: listBuckets,
  ListMultipartUploads: listMultipartUploads,
  ListObjectVersions: listObjectVersions,
  ListObjects: listObjects,
  ListObjectsV2: listObjectsV2,
  ListParts: listParts,
  PostObject: postObject,
  PreflightObject: preflightObject,
  PutBucketAcl: putBucketAcl,
  PutBucketCors: putBucketCors,
  PutBucketEncryption: putBucketEncryption,
  PutBucketLifecycleConfiguration: putBucketLifecycleConfiguration,
  PutBucketNotificationConfiguration: putBucketNotificationConfiguration,
  PutBucketOwnershipControls: putBucketOwnershipControls,
  PutBucketPolicy: putBucketPolicy,
  PutBucketTagging: putBucketTagging,
  PutBucketVersioning: putBucketVersioning,
  PutObject: putObject,
  PutObjectAcl: putObjectAcl,
  PutObjectLegalHold: putObjectLegalHold,
  PutObjectLockConfiguration: putObjectLockConfiguration,
  PutObjectRetention: putObjectRetention,
  PutObjectTagging: putObjectTagging,
  PutPublicAccessBlock: putPublicAccessBlock,
  PutUnsetConfiguration: putUnsetConfiguration,
  UploadPart: uploadPart,
  UploadPartCopy: uploadPartCopy,
};
