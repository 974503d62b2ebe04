/** What the Worker knows of the leaderboard: game servers write scores, everyone reads standings. */
import { type Product, READS } from '../shared/product.ts';

const SCORE_PATHS = /^\/v1\/(?:scores|seasons|boards|players)(?:\/|$)/;

export const leaderboard = {
  name: 'leaderboard',
  ownPaths: SCORE_PATHS,
  operations: [
    { operation: 'score_read', destination: 'api', methods: READS, path: SCORE_PATHS },
    { operation: 'score_write', destination: 'api', path: SCORE_PATHS },
  ],
  pages: ['leaderboard', 'embed/leaderboard'],
  objectClasses: ['LeaderboardSeason', 'LeaderboardShard', 'LeaderboardView'],
  load: () => import('./api.ts'),
  work: async () => (await import('./work.ts')).work,
} satisfies Product;
