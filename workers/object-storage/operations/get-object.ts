import { err, ok } from '../../shared/result.ts';
import { answer } from '../answer.ts';
import { toS3Error } from '../engine-failures.ts';
import { prepareRead } from '../object-read.ts';
import { type Operation, onObject } from './operation.ts';

export const getObject: Operation = {
  needs: 'version',
  permission: onObject('GetObject', 'GetObjectVersion', 'READ'),
  async run(context) {
    const read = await prepareRead(context);
    if (!read.ok) return read;
    const { version, range, headers, status, length } = read.value;
    if (length === 0) return ok(answer(new Uint8Array(0), status, headers));
    const stream = await context.engine.readVersion(version, range ?? undefined);
    if (!stream.ok) return err(toS3Error(stream.error));
    // The length is known, so the answer says it instead of being chunked.
    return ok(answer(stream.value.pipeThrough(new FixedLengthStream(length)), status, headers));
  },
};
