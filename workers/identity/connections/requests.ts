/**
 * What a client asks for at the authorization endpoint (OAuth 2.1, RFC 7636, RFC 8707), until the person decides. The checked request
 * is sealed for the page, so that the person approves exactly what was shown.
 */
import { z } from 'zod';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isLoopback, isRedirectOf } from '../domain/oauth-client.ts';
import { type AgentScope, isAgentScope } from '../principal.ts';
import { openSecret, sealSecret } from '../secrets/secrets.ts';
import { findClient } from './clients.ts';

const CONTEXT = 'connection-request';
const REQUEST_AGE_MS = 10 * 60_000;
const STATE_LENGTH_MAX = 2_000;

/** Scopes of a new connection, if the person chooses no other. */
export const DEFAULT_SCOPES: readonly AgentScope[] = ['mail:read', 'mail:draft'];

/** SHA-256 in base64url (RFC 7636 §4.2). */
const CHALLENGE = /^[\w-]{43}$/;

const requestSchema = z.object({
  userId: z.string(),
  clientId: z.string(),
  clientName: z.string(),
  redirectUri: z.string(),
  codeChallenge: z.string(),
  state: z.string().nullable(),
  askedAt: z.number(),
});
export type ConnectionRequest = z.infer<typeof requestSchema>;

/** Issuer of codes, and the one resource that they open. */
export interface Service {
  readonly issuer: string;
  readonly resource: string;
}

export interface AskedConnection {
  /** Address of the client for a refusal, with the reason. */
  readonly refusedAt: string;
  /** What the person is asked; null if the request itself is wrong. */
  readonly consent: {
    readonly sealed: string;
    readonly request: ConnectionRequest;
    readonly clientHost: string;
    readonly redirectHost: string;
    readonly isLocal: boolean;
    readonly scopes: readonly AgentScope[];
  } | null;
}

type Answer = Readonly<Record<string, string>>;

/** The address to which the browser leads back: the client's, with the answer, the state and the issuer (RFC 9207). */
export function toAnswerUrl(
  { redirectUri, state }: Pick<ConnectionRequest, 'redirectUri' | 'state'>,
  answer: Answer,
  issuer: string,
): string {
  const url = new URL(redirectUri);
  const all = { ...answer, ...(state === null ? {} : { state }), iss: issuer };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url.href;
}

/**
 * Checks the query of an authorization request.
 * @returns why the request is refused without an answer to the client: its document or its address cannot be trusted.
 */
export async function readConnectionRequest(
  env: Env,
  userId: string,
  query: string,
  { service, now }: { readonly service: Service; readonly now: number },
): Promise<Result<AskedConnection, string>> {
  const parameters = new URLSearchParams(query);
  const names = [...parameters.keys()];
  // RFC 6749 §3.1: no parameter may be repeated. `resource` may be, but there is only one here (RFC 8707 §2).
  if (new Set(names).size < names.length) return err('A parameter is repeated.');
  const clientId = parameters.get('client_id') ?? '';
  const redirectUri = parameters.get('redirect_uri') ?? '';
  const state = parameters.get('state');
  if ((state ?? '').length > STATE_LENGTH_MAX) return err('The state is too long.');
  const client = await findClient(env, clientId);
  if (!client.ok) return client;
  if (!isRedirectOf(client.value, redirectUri)) return err('The redirect_uri is not one of the client.');
  const back = { redirectUri, state };
  const refuse = (error: string) => ok({ refusedAt: toAnswerUrl(back, { error }, service.issuer), consent: null });
  if (parameters.get('response_type') !== 'code') return refuse('unsupported_response_type');
  const codeChallenge = parameters.get('code_challenge') ?? '';
  if (parameters.get('code_challenge_method') !== 'S256' || !CHALLENGE.test(codeChallenge))
    return refuse('invalid_request');
  if ((parameters.get('resource') ?? service.resource) !== service.resource) return refuse('invalid_target');
  const asked = (parameters.get('scope') ?? '').split(' ').filter((scope) => scope !== '');
  const scopes = asked.length === 0 ? DEFAULT_SCOPES : asked.filter(isAgentScope);
  if (scopes.length === 0) return refuse('invalid_scope');
  const request = { userId, clientId, clientName: client.value.name, ...back, codeChallenge, askedAt: now };
  return ok({
    refusedAt: toAnswerUrl(back, { error: 'access_denied' }, service.issuer),
    consent: {
      sealed: sealSecret(JSON.stringify(request), CONTEXT, env),
      request,
      clientHost: new URL(clientId).host,
      redirectHost: new URL(redirectUri).host,
      isLocal: isLoopback(redirectUri),
      scopes,
    },
  });
}

/** Opens a request that was sealed for this user. @returns null if it is another one's, altered or older than ten minutes. */
export function openConnectionRequest(env: Env, userId: string, sealed: string, now: number): ConnectionRequest | null {
  const opened = openSecret(sealed, CONTEXT, env);
  if (!opened.ok) return null;
  const request = requestSchema.parse(JSON.parse(opened.value));
  return request.userId === userId && request.askedAt > now - REQUEST_AGE_MS ? request : null;
}
