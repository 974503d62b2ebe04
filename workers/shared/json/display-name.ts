/** Rules of names that other people read: of players, of accounts, of senders. */
import type { z } from '@hono/zod-openapi';

/** Characters that reorder the text around them, so that a name could look like another one (Unicode UTR 36, §2.5). */
const BIDI_CONTROL = /\p{Bidi_Control}/u;
/** Any character that is visible. U+2800 is a symbol, but blank. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Adds the rules of a display name to a text schema. That schema decides about empty names. */
export const displayNameSchema = <T extends z.ZodString>(text: T) =>
  text
    .refine((name) => !BIDI_CONTROL.test(name), 'must not have characters that change the direction of text')
    .refine((name) => name === '' || VISIBLE.test(name), 'must have at least one visible character');
