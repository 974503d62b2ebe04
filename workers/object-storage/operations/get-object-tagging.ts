import { ok } from '../../shared/result.ts';
import { xmlAnswer } from '../answer.ts';
import { toVersionHeaders } from '../object-headers.ts';
import { mayList } from '../object-read.ts';
import { requireObject } from '../object-version.ts';
import { fromTagRecord, toTagSet } from '../tag-document.ts';
import { type Operation, onObject } from './operation.ts';

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
