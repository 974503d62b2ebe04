import { ok } from '../../../shared/pure/result.ts';
import { aclOfVersion } from '../access/authorise.ts';
import { toAclElements } from '../documents/acl-document.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

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
