/** Schemas of the solutions of challenges. */
import { z } from '@hono/zod-openapi';

/** Token of the Turnstile widget. Tokens of Cloudflare have at most 2,048 characters. */
export const turnstileSchema = z.string().min(1).max(2048);

export const proofSchema = z.string().max(24).openapi({
  description:
    'Proof of work `minute.number`: SHA-256 of `tessera login`, the lower-case address (or `operator ` and the login) and the proof, one per line, begins with 19 zero bits. The minute is that of now since 1970.',
});
