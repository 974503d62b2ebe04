import { ok } from '../../shared/result.ts';
import { toAclElements } from '../acl-document.ts';
import { xmlAnswer } from '../answer.ts';
import { aclOfVersion } from '../authorise.ts';
import { toVersionHeaders } from '../object-headers.ts';
import { mayList } from '../object-read.ts';
import { requireObject } from '../object-version.ts';
import { type Operation, onObject } from './operation.ts';

export const getObjectAcl: Operation = {
  needs: 'version',
  permission: onObject('GetObjectAcl', 'GetObjectVersionAcl', 'READ_ACP'),
  async run(context) {
    const { request, bucket, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const acl = aclOfVersion(version.value, bucket.ownerId);
    return ok(xmlAnswer('AccessControlPolicy', toAclElements(acl), toVersionHeaders(bucket, version.value)));
  },
};
