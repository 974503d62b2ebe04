import { ok } from '../../../shared/pure/result.ts';
import { prepareRead } from '../objects/object-read.ts';
import { answer } from '../protocol/answer.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

export const headObject: Operation = {
  needs: 'version',
  permission: onObject('GetObject', 'GetObjectVersion', 'READ'),
  async run(context) {
    const read = await prepareRead(context);
    if (!read.ok) return read;
    const { headers, status, length } = read.value;
    headers.set('content-length', String(length));
    return ok(answer(null, status, headers));
  },
};
