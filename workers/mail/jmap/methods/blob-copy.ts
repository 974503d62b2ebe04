/** `Blob/copy` (RFC 8620 §6.3). Always fails: a user has only one account, so there is no other account to copy from. */
import { z } from '@hono/zod-openapi';
import { err } from '../../../shared/pure/result.ts';
import { accountArguments, idSchema } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';

export const blobCopy = method({
  capability: 'core',
  schema: z.strictObject({ ...accountArguments, fromAccountId: z.string(), blobIds: z.array(idSchema) }),
  run: () => err({ type: 'fromAccountNotFound' }),
});
