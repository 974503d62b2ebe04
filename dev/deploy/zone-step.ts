/** Optional steps of a deployment. Each is skipped with a sentence and a link if the token lacks the right for it. */
import { ApiError, reasonOf } from './cloudflare-api.ts';

/** Result of a step. It is printed after the step's name and a colon. */
export type Outcome = 'done' | 'already set' | { readonly skipped: string };

export async function attempt(step: string, link: string, run: () => Promise<Outcome>): Promise<void> {
  const outcome = await run().catch((error: unknown): Outcome => {
    const reason =
      error instanceof ApiError && error.permission ? `the token lacks "${error.permission}"` : reasonOf(error);
    return { skipped: reason };
  });
  const text = typeof outcome === 'string' ? outcome : `skipped, because ${outcome.skipped} By hand: ${link}`;
  console.log(`${step}: ${text.replace(/([^.])( By hand)/, '$1.$2')}`);
}
