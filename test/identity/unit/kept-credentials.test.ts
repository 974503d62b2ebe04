/** Tests how long an isolate may use a credential again without querying DIRECTORY. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { findUnrevoked, publishRevocations } from '../../../workers/identity/revocations.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

interface Row {
  readonly generation: number;
}

/** A database with one credential. `copy` is the credential as its replicas return it. */
function createDatabase() {
  const state = { primary: { generation: 1 } as Row | null, copy: { generation: 1 } as Row | null, looked: 0 };
  const replica = { isReplica: true };
  const database = {
    withSession: () => replica,
    prepare: () => ({ first: async () => ({ generation: 1 }), bind: () => ({}) }),
  } as unknown as D1Database;
  const find = async (source: unknown) => {
    state.looked++;
    return source === replica ? state.copy : state.primary;
  };
  const ask = (isKept = true) => findUnrevoked(database, 'hash', find as never, () => isKept);
  const background: Promise<unknown>[] = [];
  const askBusy = () =>
    findUnrevoked(
      database,
      'hash',
      find as never,
      () => true,
      (work) => void background.push(work),
    );
  return { state, database, ask, askBusy, background };
}

it('is asked once in ten seconds', async () => {
  const { state, ask } = createDatabase();
  for (let n = 0; n < 10; n++) {
    expect(await ask()).toEqual({ generation: 1 });
    vi.advanceTimersByTime(999);
  }
  expect(state.looked).toBe(1);
});

it('is refused ten seconds after another isolate revoked it, also if replicas still have it', async () => {
  const { state, ask } = createDatabase();
  await ask();
  vi.advanceTimersByTime(5_000);
  state.primary = null;
  vi.advanceTimersByTime(4_999);
  expect(await ask()).not.toBeNull();
  vi.advanceTimersByTime(1);
  expect(await ask()).toBeNull();
});

it('does not use a row longer because a replica answered it later', async () => {
  const { state, ask } = createDatabase();
  await ask(false);
  vi.advanceTimersByTime(9_000);
  state.primary = null;
  expect(await ask()).not.toBeNull();
  vi.advanceTimersByTime(1_000);
  expect(await ask()).toBeNull();
});

it('is asked for each request if it is not kept, and never kept if it was not found', async () => {
  const { state, ask } = createDatabase();
  await ask(false);
  await ask(false);
  expect(state.looked).toBe(2);
  [state.primary, state.copy] = [null, null];
  vi.advanceTimersByTime(10_000);
  expect(await ask()).toBeNull();
  state.primary = { generation: 2 };
  expect(await ask()).toEqual({ generation: 2 });
});

it('is asked again at once after a revocation in this isolate, also by a look-up that began before it', async () => {
  const { state, database, ask } = createDatabase();
  const begun = ask();
  await publishRevocations({ DIRECTORY: database } as Env, [0]).catch(() => {});
  await begun;
  [state.primary, state.copy] = [null, null];
  expect(await ask()).toBeNull();
});

it('is looked up in the background while it is in use, so that no request waits', async () => {
  const { state, askBusy, background } = createDatabase();
  for (let n = 0; n < 60; n++) {
    expect(await askBusy()).toEqual({ generation: 1 });
    await Promise.all(background.splice(0));
    vi.advanceTimersByTime(500);
  }
  // In 30 seconds: one look-up at first, then one every 7 seconds.
  expect(state.looked).toBe(5);
});

it('is refused as soon as a look-up in the background finds it revoked, and at the latest after ten seconds', async () => {
  const { state, askBusy, background } = createDatabase();
  await askBusy();
  [state.primary, state.copy] = [null, null];
  vi.advanceTimersByTime(7_000);
  expect(await askBusy()).not.toBeNull();
  await Promise.all(background);
  expect(await askBusy()).toBeNull();
});

it('is looked up by a request if the look-up in the background fails', async () => {
  const { state, database, askBusy, background } = createDatabase();
  await askBusy();
  vi.advanceTimersByTime(7_000);
  const failing = () => Promise.reject(new Error('the primary does not answer'));
  await findUnrevoked(
    database,
    'hash',
    failing,
    () => true,
    (work) => void background.push(work),
  );
  await Promise.all(background);
  vi.advanceTimersByTime(2_999);
  expect(await askBusy()).toEqual({ generation: 1 });
  vi.advanceTimersByTime(1);
  state.primary = { generation: 2 };
  expect(await askBusy()).toEqual({ generation: 2 });
});
