/** The operation of every S3 action. TypeScript reports an action without one. */
import type { S3Action } from '../protocol/detect.ts';
import type { Operation } from '../protocol/operation.ts';
import { abortMultipartUpload } from './abort-multipart-upload.ts';
import { deleteConfiguration, getConfiguration, putConfiguration } from './bucket-configurations.ts';
import { completeMultipartUpload } from './complete-multipart-upload.ts';
import { copyObject } from './copy-object.ts';
import { createBucket } from './create-bucket.ts';
import { createMultipartUpload } from './create-multipart-upload.ts';
import { deleteBucket } from './delete-bucket.ts';
import { deleteObject } from './delete-object.ts';
import { deleteObjectTagging } from './delete-object-tagging.ts';
import { deleteObjects } from './delete-objects.ts';
import { getBucketLocation } from './get-bucket-location.ts';
import { getBucketPolicyStatus } from './get-bucket-policy-status.ts';
import { getBucketVersioning } from './get-bucket-versioning.ts';
import { getObject } from './get-object.ts';
import { getObjectAcl } from './get-object-acl.ts';
import { getObjectAttributes } from './get-object-attributes.ts';
import { getObjectLockConfiguration } from './get-object-lock-configuration.ts';
import { getObjectLegalHold, getObjectRetention } from './get-object-retention.ts';
import { getObjectTagging } from './get-object-tagging.ts';
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
import { putBucketVersioning } from './put-bucket-versioning.ts';
import { putObject } from './put-object.ts';
import { putObjectAcl } from './put-object-acl.ts';
import { putObjectLockConfiguration } from './put-object-lock-configuration.ts';
import { putObjectLegalHold, putObjectRetention } from './put-object-retention.ts';
import { putObjectTagging } from './put-object-tagging.ts';
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
  DeleteBucketCors: deleteConfiguration('cors'),
  DeleteBucketEncryption: deleteConfiguration('encryption'),
  DeleteBucketLifecycle: deleteConfiguration('lifecycle'),
  DeleteBucketOwnershipControls: deleteConfiguration('ownership'),
  DeleteBucketPolicy: deleteConfiguration('policy'),
  DeleteBucketTagging: deleteConfiguration('tagging'),
  DeleteBucketWebsite: deleteConfiguration('website'),
  DeleteObject: deleteObject,
  DeleteObjectTagging: deleteObjectTagging,
  DeleteObjects: deleteObjects,
  DeletePublicAccessBlock: deleteConfiguration('publicAccessBlock'),
  DeleteUnsetConfiguration: deleteUnsetConfiguration,
  GetBucketAcl: getConfiguration('acl'),
  GetBucketCors: getConfiguration('cors'),
  GetBucketEncryption: getConfiguration('encryption'),
  GetBucketLifecycleConfiguration: getConfiguration('lifecycle'),
  GetBucketLocation: getBucketLocation,
  GetBucketNotificationConfiguration: getConfiguration('notification'),
  GetBucketOwnershipControls: getConfiguration('ownership'),
  GetBucketPolicy: getConfiguration('policy'),
  GetBucketPolicyStatus: getBucketPolicyStatus,
  GetBucketTagging: getConfiguration('tagging'),
  GetBucketVersioning: getBucketVersioning,
  GetBucketWebsite: getConfiguration('website'),
  GetObject: getObject,
  GetObjectAcl: getObjectAcl,
  GetObjectAttributes: getObjectAttributes,
  GetObjectLegalHold: getObjectLegalHold,
  GetObjectLockConfiguration: getObjectLockConfiguration,
  GetObjectRetention: getObjectRetention,
  GetObjectTagging: getObjectTagging,
  GetPublicAccessBlock: getConfiguration('publicAccessBlock'),
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
  PutBucketAcl: putConfiguration('acl'),
  PutBucketCors: putConfiguration('cors'),
  PutBucketEncryption: putConfiguration('encryption'),
  PutBucketLifecycleConfiguration: putConfiguration('lifecycle'),
  PutBucketNotificationConfiguration: putConfiguration('notification'),
  PutBucketOwnershipControls: putConfiguration('ownership'),
  PutBucketPolicy: putConfiguration('policy'),
  PutBucketTagging: putConfiguration('tagging'),
  PutBucketVersioning: putBucketVersioning,
  PutBucketWebsite: putConfiguration('website'),
  PutObject: putObject,
  PutObjectAcl: putObjectAcl,
  PutObjectLegalHold: putObjectLegalHold,
  PutObjectLockConfiguration: putObjectLockConfiguration,
  PutObjectRetention: putObjectRetention,
  PutObjectTagging: putObjectTagging,
  PutPublicAccessBlock: putConfiguration('publicAccessBlock'),
  PutUnsetConfiguration: putUnsetConfiguration,
  UploadPart: uploadPart,
  UploadPartCopy: uploadPartCopy,
};
