/**
 * The configuration documents of a bucket that S3 actions get, put and delete: one row for each. Versioning and Object Lock have
 * operations of their own, because they change more than a document.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { isPublicAcl } from '../../domain/acl.ts';
import type { S3ErrorCode } from '../../domain/error-codes.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import { notificationOf } from '../../domain/notifications.ts';
import { BUCKET_TAGS_MAX } from '../../domain/tagging.ts';
import type { Bucket } from '../../engine/model/contract.ts';
import { readAclRequest } from '../access/acl-request.ts';
import {
  aclOf,
  type ConfigurationKind,
  corsOf,
  encryptionTextOf,
  lifecycleOf,
  ownershipTextOf,
  policyTextOf,
  publicAccessBlockOf,
  tagsOf,
  websiteOf,
} from '../access/bucket-configuration.ts';
import { checkBucketPolicy } from '../access/bucket-policy.ts';
import { readDocument } from '../bodies/document-body.ts';
import {
  parseOwnership,
  parsePublicAccessBlock,
  toOwnershipElement,
  toPublicAccessBlockElements,
} from '../documents/access-documents.ts';
import { serializeAcl, toAclElements } from '../documents/acl-document.ts';
import { parseCors, toCorsElements } from '../documents/cors-document.ts';
import {
  ENCRYPTION_DELETED,
  parseEncryption,
  readEncryption,
  toEncryptionElements,
} from '../documents/encryption-document.ts';
import {
  MINIMUM_SIZE_HEADER,
  MINIMUM_SIZES,
  parseLifecycle,
  toLifecycleElements,
} from '../documents/lifecycle-document.ts';
import { parseNotification, toNotificationElements } from '../documents/notification-document.ts';
import { parseTagDocument, toTagSet } from '../documents/tag-document.ts';
import { parseWebsite, toWebsiteElements } from '../documents/website-document.ts';
import { answer, emptyAnswer, xmlAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type BucketContext, type Operation, onBucket } from '../protocol/operation.ts';
import { checkPublicCacheTag } from '../public-cache.ts';

interface NewDocument {
  /** The document in its stored form; null removes the configuration. */
  readonly stored: string | null;
  /** Headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Permission = ReturnType<typeof onBucket>;

interface Configuration {
  readonly mayGet: Permission;
  readonly mayPut: Permission;
  /** The answer with the present document; null if there is none. */
  show(bucket: Bucket): Response | null;
  /** Error of a read if there is no document. Absent if there always is one. */
  readonly missing?: S3ErrorCode;
  /** Reads the new document from a request. */
  read(context: BucketContext): Promise<Result<NewDocument, S3Failure>>;
  /** Status of the answer to a write. Default: 200. */
  readonly putStatus?: 204;
  /** Absent if no action deletes the document. `stored`: what a delete stores instead of removing the document. */
  readonly remove?: { readonly may: Permission; readonly stored?: string };
}

/** Reads the body as text, and parses it. */
async function readText<T>(
  context: BucketContext,
  parse: (text: string) => Result<T, S3Failure> | Promise<Result<T, S3Failure>>,
): Promise<Result<T, S3Failure>> {
  const text = await readDocument(context.request, context.caller.payload);
  return text.ok ? await parse(text.value) : text;
}

/** The `read` of a document that is stored as JSON. */
const readJson =
  (parse: (text: string) => Result<unknown, S3Failure>) =>
  async (context: BucketContext): Promise<Result<NewDocument, S3Failure>> => {
    const document = await readText(context, parse);
    return document.ok ? ok({ stored: JSON.stringify(document.value) }) : document;
  };

/** Header of the answer with the secret that signs the bucket's webhooks. Only callers that may set the destinations get it. */
const SECRET_HEADER = 'x-tessera-webhook-secret';

const CONFIGURATIONS = {
  acl: {
    mayGet: onBucket('GetBucketAcl', 'READ_ACP'),
    mayPut: onBucket('PutBucketAcl', 'WRITE_ACP'),
    show: (bucket) => xmlAnswer('AccessControlPolicy', toAclElements(aclOf(bucket))),
    async read(context) {
      const acl = await readAclRequest(context, aclOf(context.bucket).owner);
      return acl.ok ? ok({ stored: serializeAcl(acl.value) }) : acl;
    },
  },
  cors: {
    mayGet: onBucket('GetBucketCORS'),
    mayPut: onBucket('PutBucketCORS'),
    show: (bucket) => shown(corsOf(bucket), (rules) => xmlAnswer('CORSConfiguration', toCorsElements(rules))),
    missing: 'NoSuchCORSConfiguration',
    read: readJson(parseCors),
    remove: { may: onBucket('PutBucketCORS') },
  },
  encryption: {
    mayGet: onBucket('GetEncryptionConfiguration'),
    mayPut: onBucket('PutEncryptionConfiguration'),
    show: (bucket) =>
      shown(readEncryption(encryptionTextOf(bucket)), (encryption) =>
        xmlAnswer('ServerSideEncryptionConfiguration', toEncryptionElements(encryption)),
      ),
    missing: 'ServerSideEncryptionConfigurationNotFoundError',
    read: readJson(parseEncryption),
    // Only the configuration is removed; objects stay encrypted.
    remove: { may: onBucket('PutEncryptionConfiguration'), stored: ENCRYPTION_DELETED },
  },
  /** Lifecycle rules run once a day, after midnight UTC. */
  lifecycle: {
    mayGet: onBucket('GetLifecycleConfiguration'),
    mayPut: onBucket('PutLifecycleConfiguration'),
    show: (bucket) =>
      shown(lifecycleOf(bucket), (configuration) => {
        const headers = { [MINIMUM_SIZE_HEADER]: configuration.minimumSize };
        return xmlAnswer('LifecycleConfiguration', toLifecycleElements(configuration), headers);
      }),
    missing: 'NoSuchLifecycleConfiguration',
    async read(context) {
      const minimumSize = context.request.headers.get(MINIMUM_SIZE_HEADER) ?? MINIMUM_SIZES[0];
      if (!MINIMUM_SIZES.includes(minimumSize)) return err(invalidArgument(MINIMUM_SIZE_HEADER, minimumSize));
      const rules = await readText(context, (text) => parseLifecycle(text, () => crypto.randomUUID()));
      if (!rules.ok) return rules;
      const stored = JSON.stringify({ rules: rules.value, minimumSize });
      return ok({ stored, headers: { [MINIMUM_SIZE_HEADER]: minimumSize } });
    },
    remove: { may: onBucket('PutLifecycleConfiguration') },
  },
  notification: {
    mayGet: onBucket('GetBucketNotification'),
    mayPut: onBucket('PutBucketNotification'),
    show: ({ configuration }) =>
      xmlAnswer('NotificationConfiguration', toNotificationElements(notificationOf(configuration))),
    async read(context) {
      const { engine, bucket } = context;
      const rules = await readText(context, (text) =>
        parseNotification(text, () => crypto.randomUUID(), engine.mayNotify),
      );
      if (!rules.ok) return rules;
      // An empty document removes the configuration.
      const stored = rules.value.length === 0 ? null : JSON.stringify(rules.value);
      const hasWebhook = rules.value.some(({ target }) => target.kind === 'webhook');
      return ok({ stored, headers: hasWebhook ? { [SECRET_HEADER]: engine.webhookSecretOf(bucket) } : {} });
    },
  },
  ownership: {
    mayGet: onBucket('GetBucketOwnershipControls'),
    mayPut: onBucket('PutBucketOwnershipControls'),
    show: (bucket) =>
      shown(ownershipTextOf(bucket), (ownership) => xmlAnswer('OwnershipControls', toOwnershipElement(ownership))),
    missing: 'OwnershipControlsNotFoundError',
    async read(context) {
      const ownership = await readText(context, parseOwnership);
      if (!ownership.ok) return ownership;
      // ACLs cannot be disabled while the bucket's ACL grants access to others: "…fails if you have a bucket ACL that grants
      // access to others" (User Guide, "Prerequisites for disabling ACLs").
      if (ownership.value === 'BucketOwnerEnforced' && grantsOthers(context.bucket)) {
        return err(s3Failure('InvalidBucketAclWithObjectOwnership'));
      }
      return ok({ stored: ownership.value });
    },
    remove: { may: onBucket('PutBucketOwnershipControls') },
  },
  policy: {
    mayGet: onBucket('GetBucketPolicy'),
    mayPut: onBucket('PutBucketPolicy'),
    // The policy is returned as it was set, byte for byte.
    show: (bucket) => shown(policyTextOf(bucket), (text) => answer(text, 200, { 'content-type': 'application/json' })),
    missing: 'NoSuchBucketPolicy',
    async read(context) {
      const policy = await readText(context, (text) => checkBucketPolicy(text, context));
      return policy.ok ? ok({ stored: policy.value }) : policy;
    },
    putStatus: 204,
    remove: { may: onBucket('DeleteBucketPolicy') },
  },
  publicAccessBlock: {
    mayGet: onBucket('GetBucketPublicAccessBlock'),
    mayPut: onBucket('PutBucketPublicAccessBlock'),
    show: (bucket) =>
      shown(publicAccessBlockOf(bucket), (block) =>
        xmlAnswer('PublicAccessBlockConfiguration', toPublicAccessBlockElements(block)),
      ),
    missing: 'NoSuchPublicAccessBlockConfiguration',
    read: readJson(parsePublicAccessBlock),
    remove: { may: onBucket('PutBucketPublicAccessBlock') },
  },
  tagging: {
    mayGet: onBucket('GetBucketTagging'),
    mayPut: onBucket('PutBucketTagging'),
    show: (bucket) => shown(tagsOf(bucket), (tags) => xmlAnswer('Tagging', toTagSet(tags))),
    missing: 'NoSuchTagSet',
    read: readJson((text) => {
      const tags = parseTagDocument(text, BUCKET_TAGS_MAX);
      const checked = tags.ok ? checkPublicCacheTag(tags.value) : tags;
      return checked.ok ? tags : checked;
    }),
    putStatus: 204,
    remove: { may: onBucket('PutBucketTagging') },
  },
  website: {
    mayGet: onBucket('GetBucketWebsite'),
    mayPut: onBucket('PutBucketWebsite'),
    show: (bucket) =>
      shown(websiteOf(bucket), (website) => xmlAnswer('WebsiteConfiguration', toWebsiteElements(website))),
    missing: 'NoSuchWebsiteConfiguration',
    read: readJson(parseWebsite),
    remove: { may: onBucket('DeleteBucketWebsite') },
  },
} as const satisfies Partial<Record<ConfigurationKind, Configuration>>;

type Kind = keyof typeof CONFIGURATIONS;
type Removable = { [K in Kind]: (typeof CONFIGURATIONS)[K] extends { remove: object } ? K : never }[Kind];

const shown = <T>(document: T | null, toAnswer: (document: T) => Response): Response | null =>
  document === null ? null : toAnswer(document);

/** Whether the ACL of a bucket grants access to others than its owner. */
function grantsOthers(bucket: Bucket): boolean {
  const acl = aclOf(bucket);
  return (
    isPublicAcl(acl) || acl.grants.some(({ grantee }) => grantee.kind === 'group' || grantee.id !== bucket.ownerId)
  );
}

export function getConfiguration(kind: Kind): Operation {
  const { mayGet, show, missing }: Configuration = CONFIGURATIONS[kind];
  return {
    needs: 'bucket',
    permission: mayGet,
    async run({ bucket }) {
      const document = show(bucket);
      if (document !== null) return ok(document);
      if (missing === undefined) throw new Error(`the configuration ${kind} of a bucket has no document`);
      return err(s3Failure(missing));
    },
  };
}

export function putConfiguration(kind: Kind): Operation {
  const { mayPut, read, putStatus }: Configuration = CONFIGURATIONS[kind];
  return {
    needs: 'bucket',
    permission: mayPut,
    async run(context) {
      const document = await read(context);
      if (!document.ok) return document;
      const { stored, headers = {} } = document.value;
      const set = await context.engine.setConfiguration(context.bucket, kind, stored);
      return set.ok ? ok(emptyAnswer(putStatus ?? 200, headers)) : err(toS3Error(set.error));
    },
  };
}

export function deleteConfiguration(kind: Removable): Operation {
  const { may, stored }: NonNullable<Configuration['remove']> = CONFIGURATIONS[kind].remove;
  return {
    needs: 'bucket',
    permission: may,
    async run({ bucket, engine }) {
      const removed = await engine.setConfiguration(bucket, kind, stored ?? null);
      return removed.ok ? ok(emptyAnswer(204)) : err(toS3Error(removed.error));
    },
  };
}
