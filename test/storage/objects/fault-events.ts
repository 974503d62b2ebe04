/** Tests the sending of events while one of its calls fails, including the call of the destination. */
import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { sendEvents } from '../../../workers/storage/maintenance/events.ts';
import { SMALL } from './fault-actions.ts';
import { countEvents, LIMITS, makeCountedBucket, TICK_MS } from './fault-cases.ts';
import { type Fault, type FaultPlan, faultyDatabase, faultyQueue, runInterrupted } from './faults.ts';
import { makeEngine, put } from './harness.ts';

/** Defines the tests. Call it after `defineFaultTests`, which empties the stores before each test. */
export function defineEventFaultTests(faults: readonly Fault[]): void {
  test.each(faults)('every event is sent, those of a name in order, whichever call fails: %s', async (how) => {
    const healthy = makeEngine();
    const plan: FaultPlan = { at: null, how, calls: 0, hit: null };
    const sent: string[] = [];
    const queue = faultyQueue((message) => {
      const [record] = (message as { Records: { s3: { object: { key: string; sequencer: string } } }[] }).Records;
      const id = `${record?.s3.object.key} ${record?.s3.object.sequencer}`;
      if (!sent.includes(id)) sent.push(id);
    }, plan);
    const clock = { offsetMs: 0 };
    const { context } = makeEngine({
      now: () => Date.now() + clock.offsetMs,
      limits: LIMITS,
      bindings: { OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan), STORAGE_EVENTS: queue },
    });
    const bucket = await makeCountedBucket(healthy, 'never');
    for (let at = 0; ; at++) {
      for (const name of ['a', 'b', 'a', 'b', 'a']) await put(healthy.engine, bucket, name, SMALL);
      const due = (await selectDueEvents(healthy.context, 0, 99)).map(({ name, sequencer }) => `${name} ${sequencer}`);
      expect(due).toHaveLength(5);
      sent.length = 0;
      Object.assign(plan, { at, calls: 0, hit: null, isSilent: false, late: undefined });
      // Do not wait for a call that never answers: in production it ends with its invocation.
      await runInterrupted(plan, TICK_MS, () => sendEvents(context, 0));
      await plan.late;
      plan.at = null;
      clock.offsetMs += 3_700_000;
      while (await sendEvents(context, 0));
      expect(await countEvents(context, bucket)).toBe(0);
      for (const name of ['a', 'b']) {
        const ofName = (ids: readonly string[]) => ids.filter((id) => id.startsWith(name));
        expect(ofName(sent), `${plan.hit} (call ${at})`).toEqual(ofName(due));
      }
      if (plan.hit === null) break;
      expect(at, 'calls of a run').toBeLessThan(50);
    }
  });
}
