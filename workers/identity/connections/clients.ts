/** Reads the metadata document of an OAuth client. */
import { z } from 'zod';
import { readLimited } from '../../shared/json/limited-body.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { isClientIdForm, type OAuthClient } from '../domain/oauth-client.ts';

const TIMEOUT_MS = 5_000;
/** The size that the specification recommends as the limit. */
const DOCUMENT_BYTES_MAX = 5 * 1024;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

const documentSchema = z.looseObject({
  client_id: z.string(),
  client_name: z.string().max(1_000).optional(),
  redirect_uris: z.array(z.string().max(2_000)).min(1).max(100),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

const NAME_LENGTH_MAX = 80;
/** Control characters, and invisible ones that could turn the text around. */
const INVISIBLE = /\p{C}/gu;

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

/** Reads the document of a client. @returns why it is refused. */
function readClientDocument(clientId: string, document: unknown): Result<OAuthClient, string> {
  const parsed = documentSchema.safeParse(document);
  if (!parsed.success) return err('The metadata document lacks client_id or redirect_uris.');
  const { client_id, client_name = '', redirect_uris, ...methods } = parsed.data;
  if (client_id !== clientId) return err('The metadata document names another client_id.');
  const offered = [
    methods.token_endpoint_auth_method ?? 'none',
    ...(methods.token_endpoint_auth_methods_supported ?? []),
  ];
  if (!offered.includes('none')) return err('The client does not offer token_endpoint_auth_method none.');
  const name = client_name.replace(INVISIBLE, '').trim().slice(0, NAME_LENGTH_MAX);
  return ok({ name: name === '' ? new URL(clientId).hostname : name, redirectUris: redirect_uris });
}
