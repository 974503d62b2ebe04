/** `Thread/get` (RFC 8621 §3.1). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { getArguments } from '../protocol/arguments.ts';
import { invalidArguments, method, toMethodError } from '../protocol/method.ts';
import { findGetError, pick, resolveId } from '../protocol/standard.ts';

export const threadGet = method({
  capability: 'mail',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const refusal = findGetError(args, (name) => name === 'id' || name === 'emailIds');
    if (refusal) return err(refusal);
    if (args.ids === null) return err(invalidArguments('ids: Name the threads.'));
    const ids = [...new Set(args.ids.map((id) => resolveId(call, id)))];
    const read = await call.ask((mailbox) => mailbox.readThreads(ids));
    if (!read.ok) return err(toMethodError(read.error));
    const { state, threads } = read.value;
    const found = new Set(threads.map(({ id }) => id));
    return ok({
      accountId: call.accountId,
      state,
      list: threads.map((thread) => pick({ ...thread }, args.properties)),
      notFound: ids.filter((id) => !found.has(id)),
    });
  },
});
