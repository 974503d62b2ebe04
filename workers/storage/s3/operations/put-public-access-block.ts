import { err, ok } from '../../../shared/pure/result.ts';
import type { PublicAccessBlock } from '../../domain/access.ts';
import { readDocument } from '../bodies/document-body.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { parseXml, textOf } from '../protocol/xml-parser.ts';

export const putPublicAccessBlock: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketPublicAccessBlock'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const root = parseXml(text.value, 'PublicAccessBlockConfiguration');
    if (!root.ok) return root;
    const flag = (name: string) => textOf(root.value, name)?.trim().toLowerCase() === 'true';
    const block: PublicAccessBlock = {
      blockPublicAcls: flag('BlockPublicAcls'),
      ignorePublicAcls: flag('IgnorePublicAcls'),
      blockPublicPolicy: flag('BlockPublicPolicy'),
      restrictPublicBuckets: flag('RestrictPublicBuckets'),
    };
    const set = await engine.setConfiguration(bucket, 'publicAccessBlock', JSON.stringify(block));
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
