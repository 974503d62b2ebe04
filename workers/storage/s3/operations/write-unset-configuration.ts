import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { readDocument } from '../bodies/document-body.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { UNSET_CONFIGURATIONS } from '../protocol/detect.ts';
import { type Operation, onBucket, type Permission } from '../protocol/operation.ts';
import { parseXml, textOf, type XmlElement } from '../protocol/xml-parser.ts';

type Name = (typeof UNSET_CONFIGURATIONS)[number];

/** The permission that S3 requires to write or delete each configuration. */
const ACTIONS: Readonly<Record<Name, string>> = {
  abac: 'PutBucketAbac',
  accelerate: 'PutAccelerateConfiguration',
  logging: 'PutBucketLogging',
  metadataConfiguration: 'DeleteBucketMetadataTableConfiguration',
  replication: 'PutReplicationConfiguration',
  requestPayment: 'PutBucketRequestPayment',
};

const DELETABLE: readonly (Name | undefined)[] = ['replication'];

/**
 * For each configuration that can be written, its root element and a check whether a document matches the defaults, which
 * `get-unset-configuration.ts` returns.
 */
const ALREADY_SO: Readonly<Partial<Record<Name, { root: string; holds: (document: XmlElement) => boolean }>>> = {
  abac: { root: 'AbacStatus', holds: (document) => textOf(document, 'Status') === 'Disabled' },
  accelerate: { root: 'AccelerateConfiguration', holds: (document) => textOf(document, 'Status') === 'Suspended' },
  logging: { root: 'BucketLoggingStatus', holds: (document) => document.children.length === 0 },
  requestPayment: {
    root: 'RequestPaymentConfiguration',
    holds: (document) => textOf(document, 'Payer') === 'BucketOwner',
  },
};

const nameOf = (query: ReadonlyMap<string, string>): Name | undefined =>
  UNSET_CONFIGURATIONS.find((candidate) => query.has(candidate));

const permission: (request: { readonly query: ReadonlyMap<string, string> }) => Permission = ({ query }) =>
  onBucket(ACTIONS[nameOf(query) ?? 'logging'])();

/** Accepts a document that matches the defaults, because set-up tools write such documents, and refuses all others. */
export const putUnsetConfiguration: Operation = {
  needs: 'bucket',
  permission,
  async run({ request, caller }) {
    const name = nameOf(request.query);
    const expected = name && ALREADY_SO[name];
    if (!expected) return err(refusal(name));
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const document: Result<XmlElement, S3Failure> = parseXml(text.value, expected.root);
    if (!document.ok) return document;
    return expected.holds(document.value) ? ok(emptyAnswer(200)) : err(refusal(name));
  },
};

/**
 * Deletes an unset configuration, which has no effect. For the metadata configuration it is an error, as in S3. Other
 * configurations do not allow DELETE.
 */
export const deleteUnsetConfiguration: Operation = {
  needs: 'bucket',
  permission,
  async run({ request }) {
    const name = nameOf(request.query);
    if (name === 'metadataConfiguration') return err(s3Failure('MetadataConfigurationNotFound'));
    return DELETABLE.includes(name) ? ok(emptyAnswer(204)) : err(s3Failure('MethodNotAllowed'));
  },
};

const refusal = (name: Name | undefined): S3Failure =>
  s3Failure('NotImplemented', `The configuration "${name}" of a bucket is not implemented.`);
