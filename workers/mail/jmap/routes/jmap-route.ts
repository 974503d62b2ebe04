/** Declares JMAP's routes. A client sends a token as Bearer, or as the password of Basic. */
import { authorizeFirst, requireMailClient } from '../../../identity/index.ts';

export const JMAP_ROUTE = {
  tags: ['mail'],
  security: [{ bearer: [] }, { basic: [] }],
  middleware: authorizeFirst(requireMailClient),
};
