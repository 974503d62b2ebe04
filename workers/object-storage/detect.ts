/** Which S3 action a request is: from its method, what its path names, its query and a few headers. Pure. */
import { err, ok, type Result } from '../shared/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from './domain/failure.ts';

export type S3Action =
  | 'AbortMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'CopyObject'
  | 'CreateBucket'
  | 'CreateMultipartUpload'
  | 'DeleteBucket'
  | 'DeleteBucketCors'
  | 'DeleteBucketOwnershipControls'
  | 'DeleteBucketPolicy'
  | 'DeleteBucketTagging'
  | 'DeleteObject'
  | 'DeleteObjectTagging'
  | 'DeleteObjects'
  | 'DeletePublicAccessBlock'
  | 'DeleteUnsetConfiguration'
  | 'GetBucketAcl'
  | 'GetBucketCors'
  | 'GetBucketLocation'
  | 'GetBucketOwnershipControls'
  | 'GetBucketPolicy'
  | 'GetBucketPolicyStatus'
  | 'GetBucketTagging'
  | 'GetBucketVersioning'
  | 'GetObject'
  | 'GetObjectAcl'
  | 'GetObjectAttributes'
  | 'GetObjectTagging'
  | 'GetPublicAccessBlock'
  | 'GetUnsetConfiguration'
  | 'HeadBucket'
  | 'HeadObject'
  | 'ListBuckets'
  | 'ListMultipartUploads'
  | 'ListObjectVersions'
  | 'ListObjects'
  | 'ListObjectsV2'
  | 'ListParts'
  | 'PostObject'
  | 'PreflightObject'
  | 'PutBucketAcl'
  | 'PutBucketCors'
  | 'PutBucketOwnershipControls'
  | 'PutBucketPolicy'
  | 'PutBucketTagging'
  | 'PutBucketVersioning'
  | 'PutObject'
  | 'PutObjectAcl'
  | 'PutObjectTagging'
  | 'PutPublicAccessBlock'
  | 'PutUnsetConfiguration'
  | 'UploadPart'
  | 'UploadPartCopy';

/** What detection looks at. */
export interface DetectableRequest {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: { get(name: string): string | null };
}

type Methods = Readonly<Record<string, S3Action>>;

/** Subresources of a bucket, in the order in which they are looked for. */
const BUCKET_SUBRESOURCES: readonly (readonly [name: string, methods: Methods])[] = [
  ['acl', { GET: 'GetBucketAcl', PUT: 'PutBucketAcl' }],
  ['cors', { GET: 'GetBucketCors', PUT: 'PutBucketCors', DELETE: 'DeleteBucketCors' }],
  ['delete', { POST: 'DeleteObjects' }],
  ['location', { GET: 'GetBucketLocation' }],
  [
    'ownershipControls',
    { GET: 'GetBucketOwnershipControls', PUT: 'PutBucketOwnershipControls', DELETE: 'DeleteBucketOwnershipControls' },
  ],
  ['policyStatus', { GET: 'GetBucketPolicyStatus' }],
  ['policy', { GET: 'GetBucketPolicy', PUT: 'PutBucketPolicy', DELETE: 'DeleteBucketPolicy' }],
  [
    'publicAccessBlock',
    { GET: 'GetPublicAccessBlock', PUT: 'PutPublicAccessBlock', DELETE: 'DeletePublicAccessBlock' },
  ],
  ['tagging', { GET: 'GetBucketTagging', PUT: 'PutBucketTagging', DELETE: 'DeleteBucketTagging' }],
  ['uploads', { GET: 'ListMultipartUploads' }],
  ['versioning', { GET: 'GetBucketVersioning', PUT: 'PutBucketVersioning' }],
  ['versions', { GET: 'ListObjectVersions' }],
];

const OBJECT_SUBRESOURCES: readonly (readonly [name: string, methods: Methods])[] = [
  ['acl', { GET: 'GetObjectAcl', PUT: 'PutObjectAcl' }],
  ['attributes', { GET: 'GetObjectAttributes' }],
  ['tagging', { GET: 'GetObjectTagging', PUT: 'PutObjectTagging', DELETE: 'DeleteObjectTagging' }],
  ['uploads', { POST: 'CreateMultipartUpload' }],
];

/** Configurations that S3 has and this service never sets: reading one tells so in S3's own words, writing one is 501 unless it says what is so anyway. */
export const UNSET_CONFIGURATIONS = [
  'accelerate',
  'encryption',
  'lifecycle',
  'logging',
  'notification',
  'object-lock',
  'replication',
  'requestPayment',
  'website',
] as const;

const UNSET_METHODS: Methods = {
  GET: 'GetUnsetConfiguration',
  PUT: 'PutUnsetConfiguration',
  DELETE: 'DeleteUnsetConfiguration',
};

const UNSUPPORTED = [
  'analytics',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'metadataTable',
  'metrics',
  'restore',
  'retention',
  'select',
  'session',
  'torrent',
];

export function detectAction(request: DetectableRequest): Result<S3Action, S3Failure> {
  if (request.method === 'OPTIONS') return ok('PreflightObject');
  if (request.bucket === '') {
    // `//bucket/key`, from an endpoint that ends in a slash: no list of buckets is a good answer to that.
    if (request.key !== '') return err(s3Failure('InvalidBucketName'));
    return request.method === 'GET' ? ok('ListBuckets') : err(notAllowed(request));
  }
  const has = (name: string) => request.query.has(name);
  const [table, action] =
    request.key === ''
      ? ([BUCKET_SUBRESOURCES, detectPlainBucket] as const)
      : ([OBJECT_SUBRESOURCES, detectPlainObject] as const);
  if (UNSUPPORTED.some(has)) return err(s3Failure('NotImplemented'));
  if (request.key === '' && UNSET_CONFIGURATIONS.some(has)) {
    const found = UNSET_METHODS[request.method];
    return found ? ok(found) : err(notAllowed(request));
  }
  for (const [name, methods] of table) {
    if (!has(name)) continue;
    const found = methods[request.method];
    return found ? ok(found) : err(notAllowed(request));
  }
  const listType = request.query.get('list-type') ?? '2';
  if (request.key === '' && request.method === 'GET' && listType !== '1' && listType !== '2') {
    return err(invalidArgument('list-type', listType, 'Invalid List Type specified in Request'));
  }
  const found = action(request);
  return found ? ok(found) : err(notAllowed(request));
}

function detectPlainBucket({ method, query }: DetectableRequest): S3Action | null {
  switch (method) {
    case 'GET':
      return query.get('list-type') === '2' ? 'ListObjectsV2' : 'ListObjects';
    case 'HEAD':
      return 'HeadBucket';
    case 'PUT':
      return 'CreateBucket';
    case 'DELETE':
      return 'DeleteBucket';
    case 'POST':
      return 'PostObject';
    default:
      return null;
  }
}

function detectPlainObject({ method, query, headers }: DetectableRequest): S3Action | null {
  const isUpload = query.has('uploadId');
  const isCopy = headers.get('x-amz-copy-source') !== null;
  switch (method) {
    case 'GET':
      return isUpload ? 'ListParts' : 'GetObject';
    case 'HEAD':
      return 'HeadObject';
    case 'PUT':
      if (isUpload || query.has('partNumber')) return isCopy ? 'UploadPartCopy' : 'UploadPart';
      return isCopy ? 'CopyObject' : 'PutObject';
    case 'POST':
      return isUpload ? 'CompleteMultipartUpload' : null;
    case 'DELETE':
      return isUpload ? 'AbortMultipartUpload' : 'DeleteObject';
    default:
      return null;
  }
}

const notAllowed = ({ method, key }: DetectableRequest): S3Failure =>
  s3Failure('MethodNotAllowed', undefined, {
    details: { Method: method, ResourceType: key === '' ? 'BUCKET' : 'OBJECT' },
  });
