/** Walks whole tables page by page. The shard stores the progress and the findings so far. */
import type { EngineContext } from '../engine/model/context.ts';
import type { Row } from '../engine/store/database.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';

/**
 * A step of a walk: processes the page after `after` and adds to the report.
 * @returns the position where the next page begins; null at the end of the table.
 */
export type WalkStep<R> = (after: Row | null, report: R) => Promise<Row | null>;

interface WalkState<R> {
  readonly startedAt: number;
  readonly step: number;
  readonly after: Row | null;
  readonly report: R;
}

export interface Walked<R> {
  readonly report: R;
  readonly startedAt: number;
  readonly isDone: boolean;
}

const PAGES_PER_CHECKPOINT = 50;

/**
 * Continues the stored walk of this name, or starts it. Progress and report are stored together, so an interrupted walk resumes
 * from a consistent state.
 * @param mayContinue is called between pages.
 * @param restart discards an unfinished walk.
 */
export async function walkTables<R extends object>(
  context: EngineContext,
  shard: number,
  name: string,
  steps: readonly WalkStep<R>[],
  empty: () => R,
  mayContinue: () => boolean,
  restart = false,
): Promise<Walked<R>> {
  const kept = restart ? null : await readTask<WalkState<R> | null>(context, shard, name);
  let state: WalkState<R> = kept ?? { startedAt: context.now(), step: 0, after: null, report: empty() };
  let isKept = kept !== null;
  for (let page = 1; ; page++) {
    const step = steps[state.step];
    if (step === undefined) break;
    const after = await step(state.after, state.report);
    state = { ...state, step: after === null ? state.step + 1 : state.step, after };
    const isEnding = !mayContinue();
    if (page % PAGES_PER_CHECKPOINT !== 0 && !isEnding) continue;
    if (steps[state.step] === undefined) break;
    await writeTask(context, shard, name, state);
    isKept = true;
    if (isEnding) return { report: state.report, startedAt: state.startedAt, isDone: false };
  }
  if (isKept || restart) await writeTask(context, shard, name, null);
  return { report: state.report, startedAt: state.startedAt, isDone: true };
}
