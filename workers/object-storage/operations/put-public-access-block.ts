import { err, ok } from '../../shared/result.ts';
import { emptyAnswer } from '../answer.ts';
import { readDocument } from '../document-body.ts';
import type { PublicAccessBlock } from '../domain/access.ts';
import { toS3Error } from '../engine-failures.ts';
import { parseXml, textOf } from '../xml-parser.ts';
import { type Operation, onBucket } from './operation.ts';

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
