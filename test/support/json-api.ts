/** Sends a request to the composed JSON API inside workerd, without the Worker's entry point: no event, no trace, no log. */
import { identity } from '../../workers/identity/product.ts';
import { leaderboard } from '../../workers/leaderboard/product.ts';
import { mail } from '../../workers/mail/product.ts';
import { apiOf } from '../../workers/shared/compose-api.ts';
import { directory, storage } from '../../workers/storage/product.ts';

const PRODUCTS = [identity, directory, storage, leaderboard, mail];

export async function requestApi(
  env: Env,
  path: string,
  init?: RequestInit,
  ctx?: ExecutionContext,
): Promise<Response> {
  const { pathname } = new URL(path, 'http://localhost');
  return (await apiOf(PRODUCTS, env, pathname)).request(path, init, env, ctx);
}
