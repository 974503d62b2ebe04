/** Reads the metadata document of an OAuth client. */
import { readLimited } from '../../shared/json/limited-body.ts';
import { err, type Result } from '../../shared/pure/result.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { isClientIdForm, type OAuthClient, readClientDocument } from '../domain/oauth-client.ts';

const TIMEOUT_MS = 5_000;
/** The size that the specification recommends as the limit. */
const DOCUMENT_BYTES_MAX = 5 * 1024;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

const UNREADABLE = 'The metadata document of the client cannot be read.';

/**
 * Fetches the document of a client. Only public hosts are asked, and redirects are not followed, because they may lead into a private
 * network. @returns why the client is refused.
 */
export async function findClient(env: Env, clientId: string): Promise<Result<OAuthClient, string>> {
  if (!isClientIdForm(clientId) || !isPublicUrl(env, clientId))
    return err('The client_id is not the HTTPS URL of a metadata document.');
  try {
    const response = await fetch(clientId, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: 'application/json' },
    });
    if (response.status !== 200 || !JSON_TYPE.test(response.headers.get('content-type') ?? '')) {
      await response.body?.cancel();
      return err(UNREADABLE);
    }
    const bytes = await readLimited(response.body, DOCUMENT_BYTES_MAX);
    if (bytes.length > DOCUMENT_BYTES_MAX) return err('The metadata document of the client is too large.');
    return readClientDocument(clientId, JSON.parse(bytes.toString('utf8')));
  } catch (error) {
    logError('client_document_failed', error);
    return err(UNREADABLE);
  }
}
