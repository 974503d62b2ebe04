/** `Email/get` (RFC 8621 §4.2). */
import { z } from '@hono/zod-openapi';
import { ANSWER_BYTES_MAX } from '../../../shared/pure/request-budget.ts';
import { err, ok } from '../../../shared/pure/result.ts';
import { isBodyPartProperty } from '../objects/body-parts.ts';
import { DEFAULT_EMAIL_PROPERTIES, isEmailProperty } from '../objects/email.ts';
import { toEmails } from '../objects/read-emails.ts';
import { bodyArguments, getArguments } from '../protocol/arguments.ts';
import { OBJECTS_PER_GET_MAX } from '../protocol/limits.ts';
import { invalidArguments, method, toMethodError } from '../protocol/method.ts';
import { findGetError, resolveId } from '../protocol/standard.ts';

const TOO_MANY = {
  type: 'requestTooLarge',
  description: `At most ${OBJECTS_PER_GET_MAX} messages, and at most ${ANSWER_BYTES_MAX} bytes of their fields.`,
} as const;

export const emailGet = method({
  capability: 'mail',
  schema: z.strictObject({ ...getArguments, ...bodyArguments }),
  run: async (call, args) => {
    const refusal = findGetError(args, isEmailProperty);
    if (refusal) return err(refusal);
    const badPart = args.bodyProperties?.find((name) => !isBodyPartProperty(name));
    if (badPart !== undefined) return err(invalidArguments(`Unknown property: ${badPart.slice(0, 200)}`));
    const ids = args.ids && [...new Set(args.ids.map((id) => resolveId(call, id)))];
    const read = await call.ask((mailbox) => mailbox.readEmails(ids, OBJECTS_PER_GET_MAX));
    if (!read.ok) return err(toMethodError(read.error));
    const { state, emails, hasMore } = read.value;
    // A call without ids requests all messages. It fails if there are too many (RFC 8621 §4.2).
    if (hasMore) return err(TOO_MANY);
    const found = new Set(emails.map(({ id }) => id));
    return ok({
      accountId: call.accountId,
      state,
      list: await toEmails(call, emails, args.properties ?? DEFAULT_EMAIL_PROPERTIES, args),
      notFound: (ids ?? []).filter((id) => !found.has(id)),
    });
  },
});
