/** The background work that every deployment has, except that of DIRECTORY's snapshots. */
import { findMarkedCopies, runMarkedCopies } from '../shared/collectors/marked-copies.ts';
import type { ProductWork } from '../shared/product.ts';
import { totpSecrets } from './login/second-factor.ts';
import { runMetricsSchedule } from './operators/metrics-routes.ts';
import { operatorSecrets } from './operators/operators.ts';
import { runIdentitySchedule } from './schedule.ts';
import { refreshTokenSecrets } from './sign-in/sign-ins.ts';

export const work: ProductWork = {
  schedules: { identity: runIdentitySchedule, copies: runMarkedCopies, metrics: runMetricsSchedule },
  findWarnings: findMarkedCopies,
  secrets: [totpSecrets, operatorSecrets, refreshTokenSecrets],
};
