/**
 * Rate limit per token. The platform's limiter counts for all isolates but costs a call. An isolate therefore calls it for every
 * tenth post of a token, and the limit in wrangler.toml is in tens of posts.
 */
import { RATE_POLICIES } from '../shared/request-rates.ts';

const POSTS_PER_QUESTION = RATE_POLICIES.token.requestsPerCall;
const REFUSED_MS = 1_000;
const TOKENS_MAX = 1_000;

interface Use {
  posts: number;
  refusedUntil: number;
}

const uses = new Map<string, Use>();

/** @returns whether the token may post now. @param now milliseconds. */
export async function admitPost(limiter: RateLimit, tokenId: string, now: number): Promise<boolean> {
  const use = uses.get(tokenId) ?? { posts: 0, refusedUntil: 0 };
  if (!uses.has(tokenId)) {
    if (uses.size >= TOKENS_MAX) uses.clear();
    uses.set(tokenId, use);
  }
  if (now < use.refusedUntil) return false;
  if (use.posts++ % POSTS_PER_QUESTION !== 0) return true;
  const { success } = await limiter.limit({ key: tokenId });
  if (!success) {
    use.refusedUntil = now + REFUSED_MS;
    // The first post after the pause calls the limiter again.
    use.posts = 0;
  }
  return success;
}
