/** `/v1/imap`: the mailbox for a bridge to IMAP and SMTP submission, and for any other client that needs UIDs. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { allowJson, type JsonApiEnv } from '../../shared/json/json-api.ts';
import { addImapReads } from './account.ts';
import { addImapAppend } from './append.ts';
import { addImapChanges } from './changes.ts';
import { addImapFetch } from './fetch.ts';
import { addImapSearch } from './search.ts';
import { addImapSubmissions } from './submissions.ts';

/** Maximum size of a request with a thousand message ids. */
const REQUEST_BYTES_MAX = 256 * 1024;

export function addImap(api: OpenAPIHono<JsonApiEnv>): void {
  for (const name of ['fetch', 'flags', 'copy', 'expunge', 'search'])
    api.use(`/v1/imap/${name}`, allowJson(REQUEST_BYTES_MAX));
  addImapReads(api);
  addImapFetch(api);
  addImapChanges(api);
  addImapSearch(api);
  addImapAppend(api);
  addImapSubmissions(api);
}
