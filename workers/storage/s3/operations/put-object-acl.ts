import { err, ok } from '../../../shared/pure/result.ts';
import { readAclRequest } from '../access/acl-request.ts';
import { aclOfVersion } from '../access/authorise.ts';
import { serializeAcl } from '../documents/acl-document.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

export const putObjectAcl: Operation = {
  needs: 'version',
  permission: onObject('PutObjectAcl', 'PutObjectVersionAcl', 'WRITE_ACP'),
  async run(context) {
    const { request, bucket, engine, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const acl = await readAclRequest(context, aclOfVersion(version.value, bucket.ownerId).owner);
    if (!acl.ok) return acl;
    const set = await engine.setAcl(version.value, serializeAcl(acl.value), bucket);
    return set.ok ? ok(emptyAnswer(200, toVersionHeaders(bucket, version.value))) : err(toS3Error(set.error));
  },
};
