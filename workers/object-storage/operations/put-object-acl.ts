import { err, ok } from '../../shared/result.ts';
import { serializeAcl } from '../acl-document.ts';
import { readAclRequest } from '../acl-request.ts';
import { emptyAnswer } from '../answer.ts';
import { aclOfVersion } from '../authorise.ts';
import { toS3Error } from '../engine-failures.ts';
import { toVersionHeaders } from '../object-headers.ts';
import { mayList } from '../object-read.ts';
import { requireObject } from '../object-version.ts';
import { type Operation, onObject } from './operation.ts';

export const putObjectAcl: Operation = {
  needs: 'version',
  permission: onObject('PutObjectAcl', 'PutObjectVersionAcl', 'WRITE_ACP'),
  async run(context) {
    const { request, bucket, engine, found } = context;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const acl = await readAclRequest(context, aclOfVersion(version.value, bucket.ownerId).owner);
    if (!acl.ok) return acl;
    const set = await engine.setAcl(version.value, serializeAcl(acl.value));
    return set.ok ? ok(emptyAnswer(200, toVersionHeaders(bucket, version.value))) : err(toS3Error(set.error));
  },
};
