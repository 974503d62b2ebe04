/**
 * What the Worker knows of identity and of the service itself, which every deployment has: users, operators, the audit log, metrics
 * and the collectors' alarms.
 */
import type { Product } from '../shared/product.ts';

export const identity = {
  name: 'identity',
  load: () => import('./api.ts'),
  work: async () => (await import('./work.ts')).work,
} satisfies Product;
