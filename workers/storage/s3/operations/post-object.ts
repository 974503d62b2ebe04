import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { parseChecksumAlgorithm, UNSUPPORTED_MESSAGE } from '../../domain/checksums.ts';
import type { CustomerKey, KeyRecord } from '../../domain/customer-key.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { checkKey } from '../../domain/naming.ts';
import { checkPostPolicy, parsePostPolicy } from '../../domain/post-policy.ts';
import { OBJECT_TAGS_MAX } from '../../domain/tagging.ts';
import type { VersionAttributes, VersionFacts } from '../../engine/model/contract.ts';
import { openForm, type UploadForm } from '../bodies/form-body.ts';
import { openUploadBody, type UploadBody, withDefaultChecksum } from '../bodies/upload-body.ts';
import { parseTagDocument, toTagRecord } from '../documents/tag-document.ts';
import { readWriteKey, sealBody, withKeyRecord } from '../objects/customer-keys.ts';
import { quoteEtag, toChecksumHeaders, toWrittenHeaders } from '../objects/object-headers.ts';
import { readNewObject, type UploadHeaders } from '../objects/object-upload.ts';
import { answer, emptyAnswer } from '../protocol/answer.ts';
import { PUT_BYTES_MAX, toFailure } from '../protocol/engine-failures.ts';
import type { BucketContext, Operation, RenewedContext, Signer } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

/** An upload by an HTML form. The form carries the signature and the signer's policy. */
export const postObject: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => null,
  async run(outer) {
    const { request, renew } = outer;
    const form = await openForm(request.headers.get('content-type'), request.body);
    if (!form.ok) return form;
    const { fields } = form.value;
    const key = readKey(form.value);
    if (!key.ok) return key;
    const headers = toHeaders(fields);
    const renewForm = renew && (async () => authorizeNext(await renew(), key.value, fields, headers));
    let allowed: Result<AllowedForm, S3Failure> = await authorizeForm(outer, key.value, fields, headers);
    // The caller may have been refused only because the copies of DIRECTORY are out of date. The primary decides, because the body
    // cannot be read again.
    if (!allowed.ok && renewForm) allowed = await renewForm();
    if (!allowed.ok) return allowed;
    const { range, object } = allowed.value;
    let { context } = allowed.value;
    const body = openUploadBody(
      { headers: headers.all, body: form.value.file },
      { kind: 'unsigned' },
      PUT_BYTES_MAX,
      true,
    );
    if (!body.ok) return body;
    const customerKey = readWriteKey(headers, context.bucket);
    if (!customerKey.ok) return customerKey;
    const checked = withDefaultChecksum(body.value);
    const { verify } = checked;
    const sized: UploadBody = {
      ...checked,
      verify(digests) {
        const refused = checkSize(digests.size, range);
        return refused ? err(refused) : verify(digests);
      },
    };
    const sealed = await sealBody(sized, customerKey.value);
    const put = await context.engine.putObject<S3Failure>({
      event: 'ObjectCreated:Post',
      bucket: context.bucket,
      name: key.value,
      ...withKeyRecord(object, sealed.record),
      ...sealed.body,
      ...(renewForm && {
        async renew() {
          const renewed = await renewForm();
          if (renewed.ok) context = renewed.value.context;
          return toRenewed(renewed, sealed.record);
        },
      }),
    });
    if (!put.ok) return toFailure(put);
    return { ok: true, value: toAnswer(context, fields, put.value, customerKey.value), proof: put.proof };
  },
};

interface AllowedForm<C extends BucketContext = BucketContext> {
  readonly context: C;
  readonly range: SizeRange;
  readonly object: VersionAttributes;
}

type Fields = ReadonlyMap<string, string>;

/** The context of a form whose signer is known. The write is guarded by the generations that the signer's credential had. */
const signedBy = <C extends BucketContext>(outer: C, { caller, identity }: Signer): C => ({
  ...outer,
  caller,
  engine: outer.engine.actingFor(caller.principal?.userId ?? null),
  bucket: outer.bucket.proof ? { ...outer.bucket, proof: { ...outer.bucket.proof, identity } } : outer.bucket,
});

/** Finds the signer of the form, and checks that signer and policy allow the upload. */
async function authorizeForm<C extends BucketContext>(
  outer: C,
  key: string,
  fields: Fields,
  headers: UploadHeaders,
): Promise<Result<AllowedForm<C>, S3Failure>> {
  const { bucket, now } = outer;
  const signer = await outer.authenticateForm(fields);
  if (!signer.ok) return signer;
  const { caller } = signer.value;
  const context: C = signedBy(outer, signer.value);
  const range = checkFields(new Map([...fields, ['key', key]]), bucket.name, now);
  if (!range.ok) return range;
  const need = { action: 'PutObject', key, acl: WRITE, bucket, caller };
  if (!context.may(need)) return err(s3Failure('AccessDenied'));
  const algorithm = headers.get('x-amz-checksum-algorithm');
  if (algorithm !== null && parseChecksumAlgorithm(algorithm) === null) {
    return err(s3Failure('InvalidRequest', UNSUPPORTED_MESSAGE));
  }
  const tags = readTags(fields);
  if (!tags.ok) return tags;
  const object = await readNewObject(context, headers, key, tags.value);
  return object.ok ? ok({ context, range: range.value, object: object.value }) : object;
}

const authorizeNext = async (
  outer: Result<RenewedContext, S3Failure>,
  key: string,
  fields: Fields,
  headers: UploadHeaders,
): Promise<Result<AllowedForm<RenewedContext>, S3Failure>> =>
  outer.ok ? authorizeForm(outer.value, key, fields, headers) : outer;

const toRenewed = (allowed: Result<AllowedForm<RenewedContext>, S3Failure>, record: KeyRecord | null) =>
  allowed.ok ? ok({ ...withKeyRecord(allowed.value.object, record), bucket: allowed.value.context.bucket }) : allowed;

const WRITE = { of: 'bucket', permission: 'WRITE' } as const;

function readKey({ fields, fileName }: UploadForm): Result<string, S3Failure> {
  const template = fields.get('key');
  if (!template) {
    const message =
      "Bucket POST must contain a field named 'key'.  If it is specified, please check the order of the fields.";
    return err(
      s3Failure('InvalidArgument', message, { details: { ArgumentName: 'key', ArgumentValue: template ?? '' } }),
    );
  }
  // Some browsers send the full path of the file.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the form's own placeholder
  const key = template.replaceAll('${filename}', () => fileName.replace(/^.*[\\/]/, ''));
  const checked = checkKey(key);
  return checked.ok ? ok(key) : checked;
}

interface SizeRange {
  readonly minBytes: number;
  readonly maxBytes: number;
}

/** Checks the fields of a form against its policy. A form without a policy (for a publicly writable bucket) has no restrictions. */
function checkFields(fields: ReadonlyMap<string, string>, bucket: string, now: number): Result<SizeRange, S3Failure> {
  const encoded = fields.get('policy');
  if (encoded === undefined) return ok({ minBytes: 0, maxBytes: PUT_BYTES_MAX });
  const policy = parsePostPolicy(encoded);
  if (!policy.ok) return policy;
  return checkPostPolicy(policy.value, new Map([...fields, ['bucket', bucket]]), now);
}

function checkSize(size: number, { minBytes, maxBytes }: SizeRange): S3Failure | null {
  const details = (limit: string, value: number) => ({
    details: { ProposedSize: String(size), [limit]: String(value) },
  });
  if (size > maxBytes) return s3Failure('EntityTooLarge', undefined, details('MaxSizeAllowed', maxBytes));
  return size < minBytes ? s3Failure('EntityTooSmall', undefined, details('MinSizeAllowed', minBytes)) : null;
}

/** Converts form fields to the headers that PutObject would have. */
function toHeaders(fields: ReadonlyMap<string, string>): UploadHeaders & { readonly all: Headers } {
  const all = new Headers();
  for (const [name, value] of fields) {
    const header = name === 'acl' ? 'x-amz-acl' : name;
    // Ignores form fields that are not valid HTTP headers.
    if (/^[a-z0-9-]+$/.test(header) && !/[\r\n\0]/.test(value)) all.set(header, value);
  }
  return { all, get: (name) => all.get(name), names: [...all.keys()] };
}

function readTags(fields: ReadonlyMap<string, string>): Result<Record<string, string> | null | undefined, S3Failure> {
  const text = fields.get('tagging');
  if (text === undefined) return ok(undefined);
  const tags = parseTagDocument(text, OBJECT_TAGS_MAX);
  return tags.ok ? ok(toTagRecord(tags.value)) : tags;
}

function toAnswer(
  { request, bucket }: BucketContext,
  fields: ReadonlyMap<string, string>,
  version: VersionFacts,
  customerKey: CustomerKey | null,
): Response {
  const etag = quoteEtag(version.etag);
  const location = `${request.isSecure ? 'https' : 'http'}://${request.headers.get('host') ?? ''}/${bucket.name}/${encodeURIComponent(version.name)}`;
  const headers = {
    etag,
    location,
    ...toWrittenHeaders(bucket, version, customerKey),
    ...toChecksumHeaders(version.checksums, version.checksumType),
  };
  const redirect = toRedirect(
    fields.get('success_action_redirect') ?? fields.get('redirect'),
    bucket.name,
    version,
    etag,
  );
  if (redirect !== null) return emptyAnswer(303, { ...headers, location: redirect });
  const status = fields.get('success_action_status');
  if (status !== '201') return emptyAnswer(status === '200' ? 200 : 204, headers);
  // S3's answer to a form has no XML namespace.
  const document = element('PostResponse', [
    element('Location', location),
    element('Bucket', bucket.name),
    element('Key', version.name),
    element('ETag', etag),
  ]);
  return answer(`<?xml version="1.0" encoding="UTF-8"?>\n${document.xml}`, 201, {
    ...headers,
    'content-type': 'application/xml',
  });
}

/**
 * The address to which the browser is redirected after the upload.
 * @returns null if the form has none, or one that a browser could not follow.
 */
function toRedirect(text: string | undefined, bucket: string, version: VersionFacts, etag: string): string | null {
  if (text === undefined || !URL.canParse(text) || !/^https?:/i.test(text)) return null;
  const url = new URL(text);
  const more = `bucket=${encodeURIComponent(bucket)}&key=${encodeURIComponent(version.name)}&etag=${encodeURIComponent(etag)}`;
  return `${url.origin}${url.pathname}${url.search === '' ? '?' : `${url.search}&`}${more}${url.hash}`;
}
