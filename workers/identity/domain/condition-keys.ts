/**
 * Condition keys that AWS documents for S3 policies, in lower case. Policies with any other key are refused when they are put,
 * because a misspelt key would silently never match.
 *
 * Sources, compared on 2026-11-22 (the list is in docs/storage.md): IAM User Guide, "AWS global condition context keys";
 * Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3" (list_amazons3). Keys that end in `/` are
 * followed by the key of a tag.
 */

/** Condition keys for which this service reads values from requests. */
export const WITH_VALUES = [
  'aws:currenttime',
  'aws:epochtime',
  'aws:principalaccount',
  'aws:principalarn',
  'aws:principalisawsservice',
  'aws:principaltype',
  'aws:referer',
  'aws:resourceaccount',
  'aws:securetransport',
  'aws:sourceip',
  'aws:useragent',
  'aws:userid',
  'aws:username',
  'aws:viaawsservice',
  's3:authtype',
  's3:delimiter',
  's3:existingobjecttag/',
  's3:if-match',
  's3:if-none-match',
  's3:max-keys',
  's3:object-lock-legal-hold',
  's3:object-lock-mode',
  's3:object-lock-remaining-retention-days',
  's3:object-lock-retain-until-date',
  's3:objectcreationoperation',
  's3:prefix',
  's3:requestobjecttag/',
  's3:requestobjecttagkeys',
  's3:resourceaccount',
  's3:signatureage',
  's3:signatureversion',
  's3:tlsversion',
  's3:versionid',
  's3:x-amz-acl',
  's3:x-amz-content-sha256',
  's3:x-amz-copy-source',
  's3:x-amz-grant-full-control',
  's3:x-amz-grant-read',
  's3:x-amz-grant-read-acp',
  's3:x-amz-grant-write',
  's3:x-amz-grant-write-acp',
  's3:x-amz-metadata-directive',
  's3:x-amz-object-ownership',
  's3:x-amz-server-side-encryption',
  's3:x-amz-server-side-encryption-aws-kms-key-id',
  's3:x-amz-server-side-encryption-customer-algorithm',
  's3:x-amz-storage-class',
  's3:x-amz-website-redirect-location',
];

/**
 * Condition keys for which AWS has no value in comparable requests either: this service has no organizations, roles, sessions,
 * VPCs, tagged users, access points, access grants, jobs or calls by other services. Keys of other AWS services are on the global
 * list, because they are for sessions that these services made.
 */
export const ALWAYS_ABSENT = [
  'aws:assumedroot',
  'aws:calledvia',
  'aws:calledviaawsmcp',
  'aws:calledviafirst',
  'aws:calledvialast',
  'aws:chatbotsourcearn',
  'aws:ec2instancesourceprivateipv4',
  'aws:ec2instancesourcevpc',
  'aws:federatedprovider',
  'aws:multifactorauthage',
  'aws:multifactorauthpresent',
  'aws:principalorgid',
  'aws:principalorgpaths',
  'aws:principalservicename',
  'aws:principalservicenameslist',
  'aws:principaltag/',
  'aws:resourceorgid',
  'aws:resourceorgpaths',
  'aws:signinsessionarn',
  'aws:sourceaccount',
  'aws:sourcearn',
  'aws:sourceidentity',
  'aws:sourceorgid',
  'aws:sourceorgpaths',
  'aws:sourcevpc',
  'aws:sourcevpcarn',
  'aws:sourcevpce',
  'aws:tokenissuetime',
  'aws:vpceaccount',
  'aws:vpceorgid',
  'aws:vpceorgpaths',
  'aws:vpcsourceip',
  'codebuild:buildarn',
  'codebuild:projectarn',
  'ec2:roledelivery',
  'ec2:sourceinstancearn',
  'glue:credentialissuingservice',
  'glue:roleassumedby',
  'identitystore:userid',
  'lambda:sourcefunctionarn',
  's3:accessgrantscope',
  's3:accessgrantsinstancearn',
  's3:accessgrantslocationscope',
  's3:accesspointnetworkorigin',
  's3:accesspointtag/',
  's3:dataaccesspointaccount',
  's3:dataaccesspointarn',
  's3:existingjoboperation',
  's3:existingjobpriority',
  's3:inventoryaccessibleoptionalfields',
  's3:jobsuspendedcause',
  's3:requestjoboperation',
  's3:requestjobpriority',
  'ssm:sourceinstancearn',
];

/**
 * Condition keys for which AWS may have a value and that this service does not read. A condition on such a key is never decided in
 * the caller's favour.
 */
export const NOT_READ = [
  'aws:ismcpserviceaction',
  'aws:requestedregion',
  'aws:requesttag/',
  'aws:resourcetag/',
  'aws:tagkeys',
  'aws:viaawsmcpservice',
  's3:annotation-prefix',
  's3:buckettag/',
  's3:deliverysourcearn',
  's3:destinationregion',
  's3:isreplicationpauserequest',
  's3:locationconstraint',
  's3:logtype',
  's3:max-annotation-results',
  's3:object-lock-event-hold',
  's3:object-lock-event-hold-duration-days',
  's3:resourcearnbeingauthorized',
  's3:x-amz-bucket-namespace',
  's3:x-amz-object-annotation-directive',
  's3:x-amz-object-if-match',
];

const READ: ReadonlySet<string> = new Set([...WITH_VALUES, ...ALWAYS_ABSENT]);
const DOCUMENTED: ReadonlySet<string> = new Set([...READ, ...NOT_READ]);

/** The part of a condition key before the name of a tag. A key that ends in `/` names no tag and has no such part. */
const familyOf = (key: string): string => /^([^/]+\/)./s.exec(key)?.[1] ?? (key.endsWith('/') ? '' : key);

/**
 * Whether this service reads a condition key. If it does, the key's absence from the context means its absence from the request.
 * @param key condition key in lower case.
 */
export const isReadKey = (key: string): boolean => READ.has(familyOf(key));

/** Whether AWS documents a condition key for S3 policies. @param key condition key in lower case. */
export const isDocumentedKey = (key: string): boolean => DOCUMENTED.has(familyOf(key));
