import { ok } from '../../../shared/pure/result.ts';
import { fromTagRecord, toTagSet } from '../documents/tag-document.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

export const getObjectTagging: Operation = {
  needs: 'version',
  permission: onObject('GetObjectTagging', 'GetObjectVersionTagging', null),
  async run(context) {
    const { request, bucket, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const tags = toTagSet(fromTagRecord(version.value.tags));
    return ok(xmlAnswer('Tagging', tags, toVersionHeaders(bucket, version.value)));
  },
};
