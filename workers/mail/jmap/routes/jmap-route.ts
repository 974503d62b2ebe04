/** Declaration of JMAP's routes: a token as Bearer, or as the password of Basic. */
import { authorizeFirst, requireMailClient } from '../../../identity/index.ts';

/** RFC 8620 §2.2. The Worker routes this path of the app's host to JMAP. */
export const WELL_KNOWN_PATH = '/.well-known/jmap';

export const JMAP_ROUTE = {
  tags: ['mail'],
  security: [{ bearer: [] }, { basic: [] }],
  middleware: authorizeFirst(requireMailClient),
};
