import { err, ok } from '../../../shared/pure/result.ts';
import { isPublicAcl } from '../../domain/acl.ts';
import { s3Failure } from '../../domain/failure.ts';
import { aclOf } from '../access/bucket-configuration.ts';
import { readDocument } from '../bodies/document-body.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { childrenOf, parseXml, textOf } from '../protocol/xml-parser.ts';

const OWNERSHIPS = ['BucketOwnerEnforced', 'BucketOwnerPreferred', 'ObjectWriter'];

export const putBucketOwnershipControls: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketOwnershipControls'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const root = parseXml(text.value, 'OwnershipControls');
    if (!root.ok) return root;
    const [rule, another] = childrenOf(root.value, 'Rule');
    const ownership = rule && textOf(rule, 'ObjectOwnership');
    if (!ownership || another || !OWNERSHIPS.includes(ownership)) return err(s3Failure('MalformedXML'));
    const acl = aclOf(bucket);
    const grantsOthers =
      isPublicAcl(acl) || acl.grants.some(({ grantee }) => grantee.kind === 'group' || grantee.id !== bucket.ownerId);
    // ACLs cannot be disabled while the bucket's ACL grants access to others: "…fails if you have a bucket ACL that grants access
    // to others" (User Guide, "Prerequisites for disabling ACLs").
    if (ownership === 'BucketOwnerEnforced' && grantsOthers) {
      return err(s3Failure('InvalidBucketAclWithObjectOwnership'));
    }
    const set = await engine.setConfiguration(bucket, 'ownership', ownership);
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
