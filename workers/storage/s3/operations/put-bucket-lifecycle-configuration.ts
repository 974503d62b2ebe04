import { err, ok } from '../../../shared/pure/result.ts';
import { invalidArgument } from '../../domain/failure.ts';
import type { LifecycleConfiguration } from '../../domain/lifecycle.ts';
import { readDocument } from '../bodies/document-body.ts';
import { MINIMUM_SIZE_HEADER, MINIMUM_SIZES, parseLifecycle } from '../documents/lifecycle-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

/** Sets the lifecycle rules. They run once a day, after midnight UTC. */
export const putBucketLifecycleConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('PutLifecycleConfiguration'),
  async run({ bucket, engine, request, caller }) {
    const minimumSize = request.headers.get(MINIMUM_SIZE_HEADER) ?? MINIMUM_SIZES[0];
    if (!MINIMUM_SIZES.includes(minimumSize)) return err(invalidArgument(MINIMUM_SIZE_HEADER, minimumSize));
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const rules = parseLifecycle(text.value, () => crypto.randomUUID());
    if (!rules.ok) return rules;
    const configuration: LifecycleConfiguration = { rules: rules.value, minimumSize };
    const set = await engine.setConfiguration(bucket, 'lifecycle', JSON.stringify(configuration));
    return set.ok ? ok(emptyAnswer(200, { [MINIMUM_SIZE_HEADER]: minimumSize })) : err(toS3Error(set.error));
  },
};
