/** `Core/echo` (RFC 8620 §4). The budget of the request counts its answer, and again each reference to it. */
import { z } from '@hono/zod-openapi';
import { ok } from '../../../shared/pure/result.ts';
import { method } from '../protocol/method.ts';

export const coreEcho = method({
  capability: 'core',
  schema: z.record(z.string(), z.unknown()),
  run: (_, args) => ok(args),
});
