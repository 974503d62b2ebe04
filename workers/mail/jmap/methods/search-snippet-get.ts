/** `SearchSnippet/get` (RFC 8621 §5.1). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { listTexts } from '../../domain/email-filter.ts';
import { markPreview, markSubject, toWords } from '../domain/highlight.ts';
import { readEmailQuery } from '../objects/email-query.ts';
import { accountArguments, idSchema } from '../protocol/arguments.ts';
import { OBJECTS_PER_GET_MAX } from '../protocol/limits.ts';
import { method, toMethodError } from '../protocol/method.ts';
import { resolveId } from '../protocol/standard.ts';

export const searchSnippetGet = method({
  capability: 'mail',
  schema: z.strictObject({
    ...accountArguments,
    filter: z.record(z.string(), z.unknown()).nullable().default(null),
    emailIds: z.array(idSchema),
  }),
  run: async (call, args) => {
    if (args.emailIds.length > OBJECTS_PER_GET_MAX) return err({ type: 'requestTooLarge' });
    const query = readEmailQuery({ filter: args.filter, sort: null, collapseThreads: false });
    if (!query.ok) return query;
    const ids = [...new Set(args.emailIds.map((id) => resolveId(call, id)))];
    const read = await call.ask((mailbox) => mailbox.readEmailTexts(ids));
    if (!read.ok) return err(toMethodError(read.error));
    const inSubject = toWords(listTexts(query.value.filter, ['any', 'subject']));
    const inBody = toWords(listTexts(query.value.filter, ['any', 'body']));
    const found = new Set(read.value.map(({ id }) => id));
    const notFound = ids.filter((id) => !found.has(id));
    return ok({
      accountId: call.accountId,
      list: read.value.map(({ id, subject, text }) => ({
        emailId: id,
        subject: markSubject(subject, inSubject),
        preview: markPreview(text, inBody),
      })),
      notFound: notFound.length > 0 ? notFound : null,
    });
  },
});
