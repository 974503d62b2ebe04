/** Declares JMAP's routes. A client sends a token as Bearer, or as the password of Basic. */
import { authorizeFirst, requireMailClient } from '../../../identity/index.ts';

/** Path at which clients look for JMAP (RFC 8620 §2.2). On the app's host, the Worker routes it to JMAP. */
export const WELL_KNOWN_PATH = '/.well-known/jmap';

export const JMAP_ROUTE = {
  tags: ['mail'],
  security: [{ bearer: [] }, { basic: [] }],
  middleware: authorizeFirst(requireMailClient),
};
