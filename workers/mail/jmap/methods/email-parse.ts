/** `Email/parse` (RFC 8621 §4.9). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { parseMessage } from '../../mime/parse.ts';
import { findBlobSource, openMessageBlob } from '../objects/blobs.ts';
import { isBodyPartProperty } from '../objects/body-parts.ts';
import { DEFAULT_PARSE_PROPERTIES, isEmailProperty, toParsedEmail } from '../objects/email.ts';
import { accountArguments, bodyArguments, idSchema, propertiesSchema } from '../protocol/arguments.ts';
import { OBJECTS_PER_GET_MAX } from '../protocol/limits.ts';
import { type Arguments, invalidArguments, method } from '../protocol/method.ts';
import { resolveId } from '../protocol/standard.ts';

const PREVIEW_LENGTH_MAX = 256;

export const emailParse = method({
  capability: 'mail',
  schema: z.strictObject({
    ...accountArguments,
    blobIds: z.array(idSchema),
    properties: propertiesSchema,
    ...bodyArguments,
  }),
  run: async (call, args) => {
    const { env, user } = call;
    const properties = args.properties ?? DEFAULT_PARSE_PROPERTIES;
    const unknown =
      properties.find((name) => !isEmailProperty(name)) ??
      args.bodyProperties?.find((name) => !isBodyPartProperty(name));
    if (unknown !== undefined) return err(invalidArguments(`Unknown property: ${unknown.slice(0, 200)}`));
    if (args.blobIds.length > OBJECTS_PER_GET_MAX) return err({ type: 'requestTooLarge' });
    const parsed: Record<string, Arguments> = {};
    const notParsable: string[] = [];
    const notFound: string[] = [];
    for (const id of new Set(args.blobIds.map((each) => resolveId(call, each)))) {
      const source = await findBlobSource(env, user.userId, id);
      const message = source && (await openMessageBlob(env, user.userId, source));
      if (!message) notFound.push(id);
      else if (message.tree.parts[0]?.headers.length === 0) notParsable.push(id);
      else {
        const { text, attachments } = await parseMessage(message.bytes, message);
        const preview = text.replace(/\s+/g, ' ').trim().slice(0, PREVIEW_LENGTH_MAX);
        const hasAttachment = attachments.some(({ isInline }) => !isInline);
        parsed[id] = toParsedEmail(message, { preview, hasAttachment, blobId: id }, properties, {
          ...args,
          parts: call.parts,
        });
      }
    }
    const orNull = <T extends object>(value: T): T | null => (Object.keys(value).length > 0 ? value : null);
    return ok({
      accountId: call.accountId,
      parsed: orNull(parsed),
      notParsable: orNull(notParsable),
      notFound: orNull(notFound),
    });
  },
});
