import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { OBJECT_TAGS_MAX } from '../../domain/tagging.ts';
import { toRequestTags } from '../access/authorise.ts';
import { readDocument } from '../bodies/document-body.ts';
import { parseTagDocument, toTagRecord } from '../documents/tag-document.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

const permission = onObject('PutObjectTagging', 'PutObjectVersionTagging', null);

export const putObjectTagging: Operation = {
  needs: 'version',
  permission,
  async run(context) {
    const { request, bucket, caller, engine, found } = context;
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const tags = parseTagDocument(text.value, OBJECT_TAGS_MAX);
    if (!tags.ok) return tags;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const requestTags = toRequestTags(tags.value.map(({ key, value }) => [key, value] as const));
    const { action } = permission(request);
    // The permission is checked again with the new tags, because a policy may depend on them.
    const need = { action, key: request.key, acl: null, bucket, version: version.value, caller, context: requestTags };
    if (!context.may(need)) return err(s3Failure('AccessDenied'));
    const set = await engine.setTags(version.value, toTagRecord(tags.value), bucket);
    return set.ok ? ok(emptyAnswer(200, toVersionHeaders(bucket, version.value))) : err(toS3Error(set.error));
  },
};
