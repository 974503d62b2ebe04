/** `Email/copy` (RFC 8621 §4.7). Always fails: a user has only one account, so there is no other account to copy from. */
import { z } from '@hono/zod-openapi';
import { err } from '../../../shared/pure/result.ts';
import { accountArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';

export const emailCopy = method({
  capability: 'mail',
  schema: z.looseObject({ ...accountArguments, fromAccountId: z.string(), create: z.record(z.string(), z.unknown()) }),
  run: () => err({ type: 'fromAccountNotFound' }),
});
