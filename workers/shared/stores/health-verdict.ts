/**
 * The verdict on the health of the stores, which everyone may read. Cron judges each minute; a request for it reads one row. It judges
 * itself only if there is no fresh verdict, as before the first cron run of a new version, and only one request in the world at a time
 * may. So nobody can load the stores with requests for their health.
 */
import { inTime } from '../concurrency/in-time.ts';
import { logError } from '../telemetry/log.ts';
import { type Finders, findAboutStores, type StoreFindings } from './health-findings.ts';
import { claimVerdict, readVerdict, writeVerdict } from './verdict-store.ts';

/** Age from which a verdict of health is not used. Cron makes one each minute. */
const FRESH_MS = 180_000;
/** The same for a verdict that names something, because what it names may have been mended. */
const UNWELL_FRESH_MS = 20_000;
/** Time for which one request may judge and no other. */
const JUDGE_LEASE_MS = 20_000;
/** Age of cron's last verdict from which a verdict warns of it. */
const CRON_LATE_MS = 300_000;

/** Time limit of DIRECTORY. */
const DIRECTORY_MS = 3_000;

const LATE = Symbol('late');

/** Cloudflare's id of the version that runs. An isolate that was started without the binding does not know it. */
export const versionIdOf = (env: Partial<Pick<Env, 'VERSION'>>): string => env.VERSION?.id || 'unknown';

const isWell = ({ unavailable, misconfigured }: StoreFindings): boolean =>
  unavailable.length + misconfigured.length === 0;

const only = (unavailable: string): StoreFindings => ({ unavailable: [unavailable], misconfigured: [], warnings: [] });

/** Judges the stores and keeps the verdict. Run by cron. Of two verdicts, the one counts that was begun later. */
export async function judgeStores(env: Env, finders: Finders): Promise<void> {
  const now = Date.now();
  const findings = JSON.stringify(await findAboutStores(env, finders));
  await writeVerdict(env.DIRECTORY, { versionId: versionIdOf(env), now, isCron: true, findings });
}

/** What the last verdict says. A verdict that is too old is never used: a new one is made, or the report names its age. */
export async function readFindings(env: Env, finders: Finders): Promise<StoreFindings> {
  try {
    return await readOrJudge(env, finders);
  } catch (error) {
    logError('health_unreadable', error);
    const isEmpty = error instanceof Error && /no such table/.test(error.message);
    if (!isEmpty) return only('DIRECTORY');
    const message = 'lacks its tables: run npm run upgrade';
    return { unavailable: [], misconfigured: [{ name: 'DIRECTORY', message }], warnings: [] };
  }
}

async function readOrJudge(env: Env, finders: Finders): Promise<StoreFindings> {
  const versionId = versionIdOf(env);
  const now = Date.now();
  const row = await inTime(readVerdict(env.DIRECTORY, versionId), DIRECTORY_MS, LATE);
  if (row === LATE) return only('DIRECTORY');
  const last = row && row.judged_at > 0 ? (JSON.parse(row.findings) as StoreFindings) : null;
  const ageMs = now - (row?.judged_at ?? 0);
  if (last && ageMs < (isWell(last) ? FRESH_MS : UNWELL_FRESH_MS)) return last;
  if (!(await claimVerdict(env.DIRECTORY, versionId, now, JUDGE_LEASE_MS))) {
    if (last && !isWell(last)) return last;
    return only(last ? `the stores were last judged ${toMinutes(ageMs)} minutes ago` : 'the stores are being judged');
  }
  const found = await findAboutStores(env, finders);
  const findings = { ...found, warnings: [...found.warnings, ...cronWarnings(row?.cron_at ?? 0, now)] };
  await writeVerdict(env.DIRECTORY, { versionId, now, isCron: false, findings: JSON.stringify(findings) });
  return findings;
}

/** Warns if cron judged before and does so no longer. A new version has not been judged by cron yet. */
function cronWarnings(cronAt: number, now: number): StoreFindings['warnings'] {
  if (cronAt === 0 || now - cronAt < CRON_LATE_MS) return [];
  return [{ name: 'cron', message: `last judged the stores ${toMinutes(now - cronAt)} minutes ago` }];
}

const toMinutes = (ms: number): number => Math.floor(ms / 60_000);
