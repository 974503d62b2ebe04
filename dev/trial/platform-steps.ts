/** Steps of a trial that use what only the platform can do, and measure. */
import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { USAGE } from '../../workers/shared/telemetry/prices.ts';
import { SAMPLES } from './price.ts';
import { expectObject, postScore, putObject, sendMail } from './product-steps.ts';
import { call, type Facts, type Known, need, type Step, type TrialWorld, until } from './world.ts';

const SHARD = 0;
/** A store that was put back is refused within ten seconds; the platform may need some itself. */
const NOTICE_MS = 60_000;
const SERVE_AGAIN_MS = 60_000;
/** Analytics are some minutes late. */
const ANALYTICS_MS = 240_000;
const ENOUGH = 0.9;

/** Puts a shard back by Time Travel and replays it: the runbook "A database of objects was damaged or lost". */
async function restore(world: TrialWorld, known: Known): Promise<Facts> {
  const [kept, later] = [randomBytes(4_096), randomBytes(40_000)];
  const [s3, Bucket] = [need(known, 's3'), need(known, 'bucket')];
  await putObject(known, 'kept', kept);
  await putObject(known, 'gone', kept);
  const database = `tessera-${world.name}-objects-${SHARD}`;
  const bookmark = await world.platform.readBookmark(database);
  await putObject(known, 'later', later);
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'gone' }));
  await call(world, ['POST', '/v1/storage/doubt'], {});
  await world.platform.putBack(database, bookmark);
  const restoredAt = Date.now();
  await until(world, 'the shard that was put back is refused', NOTICE_MS, async () => {
    const { unavailable = [] } = await call(world, ['GET', '/v1/health'], undefined, { allowed: 503 }).catch(
      () => ({}),
    );
    return unavailable.some((name: string) => name.startsWith(`OBJECTS_${SHARD} was put back`)) || undefined;
  });
  const noticedMs = Date.now() - restoredAt;
  await until(world, 'the replay', NOTICE_MS, async () =>
    (await call(world, ['POST', '/v1/storage/replay'], { shard: SHARD })).finished ? true : undefined,
  );
  await until(world, 'the shard serves again', SERVE_AGAIN_MS, () =>
    expectObject(known, 'later', later).then(
      () => true as const,
      () => undefined,
    ),
  );
  await expectObject(known, 'kept', kept);
  const isGone = await s3.send(new GetObjectCommand({ Bucket, Key: 'gone' })).then(
    () => false,
    (error: Error) => error.name === 'NoSuchKey',
  );
  if (!isGone) throw new Error('an object that was deleted after the bookmark is back');
  return { noticed_ms: noticedMs, served_again_ms: Date.now() - restoredAt };
}

/** Upgrades to the same tree, step by step, while objects are written and read. */
async function upgrade(world: TrialWorld, known: Known): Promise<Facts> {
  const traffic = { requests: 0, failed: 0 };
  const reasons = new Map<string, number>();
  const upgrading = { isOver: false };
  const keepBusy = async () => {
    while (!upgrading.isOver) {
      traffic.requests += 2;
      await putObject(known, `busy-${traffic.requests % 10}`, randomBytes(100)).catch((error: unknown) => {
        traffic.failed++;
        reasons.set(String(error), (reasons.get(String(error)) ?? 0) + 1);
      });
      await world.pause(300);
    }
  };
  const busy = keepBusy();
  try {
    await world.platform.deploy(['--upgrade', '--share', '50', '--watch', '1'], world.signal);
  } finally {
    upgrading.isOver = true;
    await busy.catch(() => undefined);
  }
  if (traffic.failed > 0) {
    const why = [...reasons].map(([reason, count]) => `${count} times ${reason}`).join('; ');
    throw new Error(`${traffic.failed} of ${traffic.requests} requests failed during the upgrade: ${why}`);
  }
  return { ...traffic, health: await call(world, ['GET', '/v1/health']) };
}

/** Milliseconds from here: median and the highest but few of some samples. */
async function measure(world: TrialWorld, known: Known): Promise<Facts> {
  const [s3, Bucket] = [need(known, 's3'), need(known, 'bucket')];
  const bytes = randomBytes(4_096);
  const operations: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
    put_4k: (n) => s3.send(new PutObjectCommand({ Bucket, Key: `measured-${n}`, Body: bytes })),
    get_4k: (n) => expectObject(known, `measured-${n}`, bytes),
    post: (n) => postScore(world, need(known, 'scoreToken'), `player-${n}`),
    mail: (n) => sendMail(world, need(known, 'mailToken'), need(known, 'email'), `Measured ${n}`),
  };
  const facts: Record<string, unknown> = {};
  for (const [name, operate] of Object.entries(operations)) {
    const times: number[] = [];
    for (let n = 0; n < SAMPLES; n++) {
      const startedAt = performance.now();
      await operate(n);
      times.push(performance.now() - startedAt);
    }
    times.sort((a, b) => a - b);
    const at = (share: number) => Math.round(times[Math.min(SAMPLES - 1, Math.floor(share * SAMPLES))] ?? 0);
    facts[name] = { samples: SAMPLES, p50_ms: at(0.5), p90_ms: at(0.9), max_ms: at(1) };
  }
  return facts;
}

/** Compares what the trial sent with what Cloudflare counted. */
async function compareUsage(world: TrialWorld): Promise<Facts> {
  const since = new Date(Date.now() - 60 * 60_000);
  const read = () => world.platform.readUsage(`tessera-${world.name}`, since);
  const counted = await until(world, 'analytics', ANALYTICS_MS, async () => {
    const usage = await read();
    return usage.requests >= ENOUGH * world.requests.read() ? usage : undefined;
  }).catch(async (error: unknown) => {
    if (world.signal.aborted) throw error;
    return { ...(await read()), is_late: true };
  });
  // Rows of the measured operations alone: the background work writes more.
  const rows = SAMPLES * ((USAGE.storage_write.rowWritten ?? 0) + (USAGE.score_write.rowWritten ?? 0));
  return { sent_requests: world.requests.read(), estimated_rows_written: rows, counted };
}

export const PLATFORM_STEPS: readonly Step[] = [
  { name: 'restore', run: restore },
  { name: 'upgrade', run: upgrade },
  { name: 'measure', run: measure },
  { name: 'analytics', run: compareUsage },
];
