/**
 * Steps of a job that pulls versions from another S3 server. A step lists a page of the source, compares it with the versions here, and
 * pulls what is missing: names in parallel, the versions of a name one after the other, the oldest first.
 *
 * A step that is repeated pulls nothing twice: each pulled version keeps the id that it has at the source, and each write depends on the
 * newest version of its name, so that a late worker's write is refused.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import {
  addTo,
  DIFFERENCES_LISTED_MAX,
  type JobObstacle,
  note,
  type PullCursor,
  type PullOrder,
} from '../domain/jobs.ts';
import { nameAfter } from '../domain/name-order.ts';
import {
  groupByName,
  type NamePlan,
  nextPageSize,
  PAGE_SIZE_MIN,
  planName,
  type SourceVersion,
} from '../domain/pulls.ts';
import { listObjects } from '../engine/actions/listing.ts';
import { findHeld } from '../engine/store/pull-store.ts';
import { differ, type JobFailure, type JobScene } from './job-scene.ts';
import { Pace, Source, type SourceListing, type SourcePage, SourceRefused, SourceUnavailable } from './pull-source.ts';
import { pullVersion } from './pull-version.ts';

const NAMES_AT_ONCE = 4;
/** Number of versions that a step pulls at most. Each takes about ten queries of a database. */
const VERSIONS_PER_STEP = 60;
export const QUERIES_PER_PULL = 10;
const STEP_MS_MAX = 20_000;
/** A name's versions are planned together in memory. */
const VERSIONS_PER_NAME_MAX = 20_000;
/** Bounds of the listing of one name. A page has 500 versions, so 20,000 take 40 pages. */
const PAGES_PER_NAME_MAX = 200;
const LIST_MS_MAX = 120_000;
const NAME_BYTES_MAX = 1024;
/** Number of objects that the source does not have and a step finds at most. */
const STRANGERS_PER_STEP = 100;
/** Times that a name is planned again, because its newest version changed meanwhile. */
const PLANS_MAX = 3;
/** Number of steps in a row without an answer of the source, one a minute, after which the job fails. */
const FAILURES_MAX = 120;

export const PULL_START: PullCursor = {
  phase: 'pull',
  after: '',
  pageSize: PAGE_SIZE_MIN,
  isCurrentOnly: false,
  failures: 0,
};

export interface PullStep {
  /** Null at the end of the job. */
  readonly next: PullCursor | null;
  /** Number of versions that the step tried to pull. */
  readonly pulled: number;
}

/** Runs a step. If the source does not answer, the cursor stays and counts the failure. */
export async function pullPage(
  scene: JobScene,
  order: PullOrder,
  cursor: PullCursor,
): Promise<Result<PullStep, JobFailure>> {
  const source = openSource(scene, order);
  if (!source.ok) return source;
  try {
    return await new Step(scene, order, source.value, cursor).run();
  } catch (error) {
    if (error instanceof SourceRefused) return err(error.reason);
    if (!(error instanceof SourceUnavailable)) throw error;
    const failures = cursor.failures + 1;
    return failures > FAILURES_MAX ? err('source_unavailable') : ok({ next: { ...cursor, failures }, pulled: 0 });
  }
}

function openSource({ context, job }: JobScene, { source, rate, sealed = '' }: PullOrder): Result<Source, JobFailure> {
  if (!context.pulls.mayCall(source.endpoint)) return err('source_refused');
  const secretAccessKey = context.pulls.openSecret(sealed, job.jobId);
  if (secretAccessKey === null) return err('secret_unreadable');
  const paces = { requests: new Pace(rate.requestsPerSecond), bytes: new Pace(rate.bytesPerSecond) };
  return ok(new Source({ ...source, secretAccessKey }, paces));
}

class Step {
  readonly #scene: JobScene;
  readonly #order: PullOrder;
  readonly #source: Source;
  readonly #cursor: PullCursor;
  readonly #until = Date.now() + STEP_MS_MAX;
  #left = VERSIONS_PER_STEP;
  #failure: JobFailure | null = null;

  constructor(scene: JobScene, order: PullOrder, source: Source, cursor: PullCursor) {
    this.#scene = scene;
    this.#order = order;
    this.#source = source;
    this.#cursor = cursor;
  }

  async run(): Promise<Result<PullStep, JobFailure>> {
    const { context, bucket, job } = this.#scene;
    const isCurrentOnly = this.#cursor.isCurrentOnly || bucket.versioning !== 'enabled';
    const page = await this.#list(isCurrentOnly);
    // A server without a listing of versions has one of objects.
    if (page === null) return ok({ next: { ...this.#cursor, isCurrentOnly: true, failures: 0 }, pulled: 0 });
    if (page.versions.some(({ key }) => !key.startsWith(this.#order.source.prefix))) throw new SourceRefused(200);
    const groups = [...groupByName(page.versions)];
    const held = await findHeld(context, bucket, groups.map(([key]) => this.#nameOf(key)).filter(isShortName));
    const done = new Map<number, Deferred[]>();
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < groups.length && this.#mayBegin()) {
        const index = next++;
        const [key, versions] = groups[index] as (typeof groups)[number];
        const plan = planName(versions, held.get(this.#nameOf(key)) ?? [], job.createdAt);
        const outcome = await this.#pullName(key, versions, plan);
        if (outcome !== null) done.set(index, outcome);
      }
    };
    const workers = await Promise.allSettled(Array.from({ length: NAMES_AT_ONCE }, work));
    for (const each of workers) if (each.status === 'rejected') throw each.reason;
    if (this.#failure !== null) return err(this.#failure);
    const first = groups.findIndex((_, index) => !done.has(index));
    for (const [index, [, versions]] of groups.entries()) {
      if (first >= 0 && index >= first) break;
      addTo(job.report, 'examined', versions.length);
      for (const report of done.get(index) ?? []) report();
    }
    const pulled = VERSIONS_PER_STEP - Math.max(0, this.#left);
    const last = first < 0 ? (groups.at(-1)?.[0] ?? page.next?.key) : groups[first - 1]?.[0];
    const after = last ?? this.#cursor.after;
    const isEnd = first < 0 && page.next === null;
    if (first < 0 && !isEnd && !isLater(after, this.#cursor.after)) throw new SourceRefused(200);
    await this.#reportStrangers(isEnd ? null : after, new Set(groups.map(([key]) => this.#nameOf(key))));
    if (isEnd) return ok({ next: null, pulled });
    const pageSize = nextPageSize(this.#cursor.pageSize, pulled > 0);
    return ok({ next: { phase: 'pull', after, pageSize, isCurrentOnly, failures: 0 }, pulled });
  }

  #mayBegin(): boolean {
    return this.#failure === null && this.#left > 0 && Date.now() < this.#until;
  }

  #nameOf(key: string): string {
    return this.#order.prefix + key.slice(this.#order.source.prefix.length);
  }

  /** Lists a page that ends with all versions of its last key. @returns null if the source has no listing of versions. */
  async #list(isCurrentOnly: boolean): Promise<SourcePage | null> {
    const listing: SourceListing = {
      prefix: this.#order.source.prefix,
      afterKey: this.#cursor.after,
      afterId: null,
      limit: this.#cursor.pageSize,
    };
    if (isCurrentOnly) return this.#source.listObjects(listing);
    const first = await this.#source.listVersions(listing);
    if (first === null) return null;
    const versions: SourceVersion[] = [...first.versions];
    const last = versions.at(-1)?.key;
    let { next } = first;
    for (let pages = 0; next !== null && next.key === last && versions.length < VERSIONS_PER_NAME_MAX; pages++) {
      if (pages === PAGES_PER_NAME_MAX || Date.now() > this.#until + LIST_MS_MAX) throw new SourceRefused(200);
      const more = await this.#source.listVersions({ ...listing, afterKey: next.key, afterId: next.id, limit: 500 });
      if (more === null) break;
      const same = more.versions.filter(({ key }) => key === last);
      versions.push(...same);
      // The page reached the next key, whose versions the next step lists from their begin.
      next = same.length < more.versions.length ? { key: last ?? '', id: '' } : more.next;
      if (same.length < more.versions.length) break;
    }
    return { versions, next };
  }

  /**
   * Reports objects here that the source does not have, between the positions before and after the step.
   * @param end last key of the step; null at the end of the source. @param known names of the page.
   */
  async #reportStrangers(end: string | null, known: ReadonlySet<string>): Promise<void> {
    const { context, bucket, job } = this.#scene;
    const from = this.#cursor.after === '' ? job.order.prefix : nameAfter(this.#nameOf(this.#cursor.after));
    const limit = known.size + STRANGERS_PER_STEP;
    const page = await listObjects(context, { bucket, prefix: job.order.prefix, delimiter: '', from, limit });
    if (!page.ok) throw new Error(`the bucket cannot be listed: ${page.error.kind}`);
    for (const entry of page.value.entries) {
      if (entry.kind !== 'item' || known.has(entry.item.name)) continue;
      if (end !== null && Buffer.compare(Buffer.from(entry.item.name), Buffer.from(this.#nameOf(end))) > 0) break;
      differ(this.#scene, entry.item.name, 'not_at_source', {});
    }
  }

  /**
   * Pulls what is missing of a name.
   * @returns what to report once the cursor passes the name; null if the name is not done.
   */
  async #pullName(key: string, versions: readonly SourceVersion[], firstPlan: NamePlan): Promise<Deferred[] | null> {
    const { context, bucket, job } = this.#scene;
    const name = this.#nameOf(key);
    const toReport = (reason: JobObstacle, versionId?: string): Deferred => {
      return () => differ(this.#scene, name, reason, versionId === undefined ? {} : { versionId });
    };
    if (!isShortName(name)) return [toReport('too_long')];
    if (versions.length >= VERSIONS_PER_NAME_MAX) return [toReport('too_many_versions')];
    let plan = firstPlan;
    for (let attempt = 0; attempt < PLANS_MAX; attempt++) {
      const { end, refused } = await this.#pullMissing(name, plan);
      if (end === 'stopped') return null;
      if (end === 'done') {
        return [
          () => addTo(job.report, 'unchanged', plan.unchanged),
          ...refused.map(({ reason, versionId }) => toReport(reason, versionId)),
          ...plan.tooLate.map(({ id }) => toReport('out_of_order', id)),
          ...(plan.isWrittenHere ? [toReport('written_here')] : []),
          ...(plan.goneAtSource > 0 ? [toReport('not_at_source')] : []),
        ];
      }
      plan = planName(versions, (await findHeld(context, bucket, [name])).get(name) ?? [], job.createdAt);
    }
    return [toReport('changed')];
  }

  async #pullMissing(name: string, plan: NamePlan): Promise<{ end: 'done' | 'stopped' | 'moved'; refused: Refused[] }> {
    const { job } = this.#scene;
    const refused: Refused[] = [];
    let { newest } = plan;
    for (const version of plan.missing) {
      if (job.isDryRun) {
        note(job.report.changes, { key: name, action: 'pull', version_id: version.id }, DIFFERENCES_LISTED_MAX);
        this.#count(version);
        continue;
      }
      if (!this.#mayBegin()) return { end: 'stopped', refused };
      this.#left--;
      const task = { scene: this.#scene, source: this.#source, version, name, newest, until: this.#until };
      const outcome = await pullVersion(task);
      if (outcome.kind === 'moved') return { end: 'moved', refused };
      if (outcome.kind === 'paused') return { end: 'stopped', refused };
      if (outcome.kind === 'failed') {
        this.#failure ??= outcome.failure;
        return { end: 'stopped', refused };
      }
      if (outcome.kind === 'refused') {
        refused.push({ reason: outcome.reason, versionId: version.id });
        continue;
      }
      newest = outcome.versionId;
      this.#count(version);
      for (const reason of outcome.lacks) differ(this.#scene, name, reason, { versionId: version.id, isInPart: true });
    }
    return { end: 'done', refused };
  }

  #count({ isMarker, size }: SourceVersion): void {
    addTo(this.#scene.job.report, isMarker ? 'markers_pulled' : 'versions_pulled');
    addTo(this.#scene.job.report, 'bytes', size);
  }
}

/** Whether a key comes after another one. Most servers sort by UTF-8, some by UTF-16. */
const isLater = (key: string, before: string): boolean =>
  key > before || Buffer.compare(Buffer.from(key), Buffer.from(before)) > 0;

/** Reports something about a name, once the job passes it. */
type Deferred = () => void;

interface Refused {
  readonly reason: JobObstacle;
  readonly versionId: string;
}

const isShortName = (name: string): boolean => Buffer.byteLength(name) <= NAME_BYTES_MAX;
