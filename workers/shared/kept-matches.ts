/**
 * Hono's router for all paths, with the matches of paths without parameters kept: finding one takes 1% of the time of a score post.
 * Hono's faster router refuses the API, because `/v1/boards/default` is beside `/v1/boards/:board`.
 */
import type { Result } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';

/** More than the API has, because unknown paths are kept too. */
const KEPT_MAX = 1_000;
const PATH_LENGTH_MAX = 64;

export class KeptMatches<T> extends TrieRouter<T> {
  readonly #kept = new Map<string, Result<T>>();

  override match(method: string, path: string): Result<T> {
    const route = `${method} ${path}`;
    const kept = this.#kept.get(route);
    if (kept !== undefined) return kept;
    const found = super.match(method, path);
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
    const isFixed = found[0].every(([, parameters]) => Object.keys(parameters).length === 0);
    if (isFixed && path.length <= PATH_LENGTH_MAX) this.#kept.set(route, found);
    return found;
  }
}
