/** Names that other people read: of players, of accounts, of senders. */
import type { z } from '@hono/zod-openapi';

/** They reorder the text around them, so a name could look like another one (Unicode UTR 36, §2.5). */
const BIDI_CONTROL = /\p{Bidi_Control}/u;
/** Any character that leaves a mark. U+2800 is a symbol, but blank. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Adds the rules of a display name to a schema of text. An empty name is left to that schema. */
export const displayNameSchema = <T extends z.ZodString>(text: T) =>
  text
    .refine((name) => !BIDI_CONTROL.test(name), 'No characters that change the direction of text')
    .refine((name) => name === '' || VISIBLE.test(name), 'At least one visible character');
