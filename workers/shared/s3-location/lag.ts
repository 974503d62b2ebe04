/** How far the S3 location is behind: a gauge, and a warning of health. */
import { createCollectorStore } from '../collectors/store.ts';
import { settingsOf } from '../settings/settings.ts';
import type { HealthFinding } from '../stores/health-findings.ts';
import type { Metric } from '../telemetry/exposition.ts';
import { s3LocationAddressOf } from './client.ts';
import { isAwaitingRescue } from './pass.ts';
import { parsePass } from './pass-plan.ts';

const MINUTE_MS = 60_000;
/** Lag from which health warns. The alert rule of docs/operations.md has the same number. */
const LATE_MS = 60 * MINUTE_MS;

/** The time up to which the S3 location has everything, in milliseconds since 1970 UTC; null before the first whole pass. */
export async function readThrough(env: Env): Promise<number | null> {
  return parsePass((await createCollectorStore(env.DIRECTORY, 's3-location').read()).cursor).through;
}

export async function readS3LocationGauges(env: Env): Promise<Metric[]> {
  if (s3LocationAddressOf(env) === null) return [];
  const through = await readThrough(env);
  return [
    {
      name: 'tessera_s3_location_lag_seconds',
      type: 'gauge',
      help: 'Time since which changes may be missing in the S3 location: what a loss of the account would cost now. +Inf: no pass has ended.',
      samples: [
        { labels: {}, value: through === null ? Number.POSITIVE_INFINITY : Math.max(0, Date.now() - through) / 1000 },
      ],
    },
  ];
}

export async function findS3LocationWarnings(env: Env): Promise<HealthFinding[]> {
  const name = 'S3_LOCATION';
  if (s3LocationAddressOf(env) === null) {
    if (settingsOf(env).S3_LOCATION === '') return [];
    return [{ name, message: 'has no endpoint or no credential, so nothing is copied to it' }];
  }
  if (await isAwaitingRescue(env))
    return [{ name, message: 'has the data of an installation, and this one is empty: it waits for npm run rescue' }];
  const row = await createCollectorStore(env.DIRECTORY, 's3-location').read();
  if (row.alarm !== null) return [{ name, message: `gets no copies: ${row.alarm}` }];
  const { through, failed } = parsePass(row.cursor);
  if (through !== null && Date.now() - through > LATE_MS) {
    const minutes = Math.round((Date.now() - through) / MINUTE_MS);
    return [{ name, message: `is ${minutes} minutes behind; ${failed} copies failed` }];
  }
  return through === null ? [{ name, message: 'has no whole copy yet' }] : [];
}
