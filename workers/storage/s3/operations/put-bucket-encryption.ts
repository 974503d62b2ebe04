import { err, ok } from '../../../shared/pure/result.ts';
import { readDocument } from '../bodies/document-body.ts';
import { parseEncryption } from '../documents/encryption-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const putBucketEncryption: Operation = {
  needs: 'bucket',
  permission: onBucket('PutEncryptionConfiguration'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const encryption = parseEncryption(text.value);
    if (!encryption.ok) return encryption;
    const set = await engine.setConfiguration(bucket, 'encryption', JSON.stringify(encryption.value));
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
