import { err, ok } from '../../../shared/pure/result.ts';
import { readContent } from '../objects/object-content.ts';
import { forbidTransformation } from '../objects/object-headers.ts';
import { prepareRead } from '../objects/object-read.ts';
import { answer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onObject } from '../protocol/operation.ts';

export const getObject: Operation = {
  needs: 'version',
  permission: onObject('GetObject', 'GetObjectVersion', 'READ'),
  async run(context) {
    const read = await prepareRead(context);
    if (!read.ok) return read;
    const { version, range, headers, status, length, key } = read.value;
    if (context.caller.via !== 'header') forbidTransformation(headers, context.request.acceptedEncodings);
    if (length === 0) return ok(answer(new Uint8Array(0), status, headers));
    const body = await readContent(context.engine, version, range, key);
    return body.ok ? ok(answer(body.value, status, headers)) : err(toS3Error(body.error));
  },
};
