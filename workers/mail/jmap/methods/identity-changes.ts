/** `Identity/changes` (RFC 8621 §6.2). */

import { z } from '@hono/zod-openapi';
import { ALL_OBJECTS } from '../../../../durable-objects/mail/contract/jmap.ts';

import { readIdentities } from '../objects/identity.ts';
import { changesArguments } from '../protocol/arguments.ts';
import { answerChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const identityChanges = method({
  capability: 'submission',
  schema: z.strictObject(changesArguments),
  run: async (call, args) => {
    const read = await readIdentities(call);
    if (!read.ok) return read;
    const all = read.value.list.map(({ id }) => id);
    return answerChanges(call, 'Identity', args, ({ created, updated }) =>
      updated.includes(ALL_OBJECTS) ? { updated: all.filter((id) => !created.includes(id)) } : {},
    );
  },
});
