/** The background work that every deployment has, except that of DIRECTORY's snapshots. */
import { findMarkedCopies, runMarkedCopies } from '../shared/collectors/marked-copies.ts';
import type { ProductWork } from '../shared/product.ts';
import { findS3LocationWarnings, readS3LocationGauges } from '../shared/s3-location/lag.ts';
import { runS3LocationPass } from '../shared/s3-location/pass.ts';
import { totpSecrets } from './login/second-factor.ts';
import { runMetricsSchedule } from './operators/metrics-routes.ts';
import { operatorSecrets } from './operators/operators.ts';
import { runIdentitySchedule } from './schedule.ts';
import { refreshTokenSecrets } from './sign-in/sign-ins.ts';

export const work: ProductWork = {
  schedules: {
    identity: runIdentitySchedule,
    copies: runMarkedCopies,
    metrics: runMetricsSchedule,
  },
  slowSchedules: { s3_location: runS3LocationPass },
  findWarnings: async (env) => (await Promise.all([findMarkedCopies(env), findS3LocationWarnings(env)])).flat(),
  readGauges: readS3LocationGauges,
  secrets: [totpSecrets, operatorSecrets, refreshTokenSecrets],
};
