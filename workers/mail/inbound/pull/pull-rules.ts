/** Rules of pulls that need no IMAP: which hosts they may reach, and how their secrets are sealed. */
import type { PullServer } from '../../../../durable-objects/mail/contract/pulls.ts';
import { isPublicName } from '../../../shared/settings/public-url.ts';
import { settingsOf } from '../../../shared/settings/settings.ts';

/** Additional authenticated data for sealing the secret of a pull. */
export const pullContext = (userId: string, pullId: string): string => `pull:${userId}:${pullId}`;

/** @returns the host and port to connect to, if the server is the stand-in of a test; null for any other server. */
export function findStandIn(env: Env, { host, port }: PullServer): { host: string; port: number } | null {
  const { LOCAL, IMAP_STAND_IN } = settingsOf(env);
  const [name = '', imaps, imap] = IMAP_STAND_IN.split(':');
  if (LOCAL !== '1' || name === '' || name !== host) return null;
  return { host, port: Number(port === 993 ? imaps : imap) };
}

/** Whether pulls may reach a host, as far as its name tells. */
export const isAllowedHost = (env: Env, server: PullServer): boolean =>
  findStandIn(env, server) !== null || isPublicName(env, server.host);
