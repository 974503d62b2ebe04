import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideDelay,
  decideProgress,
  diagnoseQueue,
  isFinal,
  RECIPIENT_STATES,
  RETRY_POLICY,
} from '../../../../workers/mail/domain/recipient-state.ts';

const MINUTE = 60_000;
const before = { attempts: 0, queuedAt: 1_000_000, isUncertain: false };

test('delays double from one minute to four hours', () => {
  const minutes = Array.from({ length: 10 }, (_, n) => decideDelay(n + 1, 0) / MINUTE);
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 240, 240]);
});

test('jitter only shortens a delay, by a quarter at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempts, jitter) => {
      const full = decideDelay(attempts, 0);
      const delay = decideDelay(attempts, jitter);
      expect(delay).toBeLessThanOrEqual(full);
      expect(delay).toBeGreaterThanOrEqual(full * 0.75 - 1);
    }),
  );
});

test('success and refusal are final', () => {
  for (const kind of ['sent', 'delivered', 'refused'] as const) {
    const progress = decideProgress(before, { kind, code: 250, reply: 'x' }, 1_000_000, 0.5);
    expect(isFinal(progress.state)).toBe(true);
    expect(progress.nextAttemptAt).toBeNull();
  }
});

test('only recipients that are held, queued or deferred may still get the message', () => {
  expect(RECIPIENT_STATES.filter((state) => !isFinal(state))).toEqual(['held', 'queued', 'deferred']);
});

test('the sender is warned after four hours, and delivery ends after five days', () => {
  expect([RETRY_POLICY.warnAfterMs, RETRY_POLICY.expiresAfterMs]).toEqual([4 * 60 * MINUTE, 5 * 24 * 60 * MINUTE]);
});

test('a deferred recipient keeps the code of its server, and a doubt of an earlier attempt', () => {
  const outcome = { kind: 'deferred', code: 451, reply: 'later' } as const;
  expect(decideProgress(before, outcome, 1_000_000, 1)).toEqual({
    ...{ state: 'deferred', attempts: 1, nextAttemptAt: 1_045_000, lastCode: 451, lastReply: 'later' },
    ...{ isUncertain: false, isExpired: false },
  });
  expect(decideProgress({ ...before, isUncertain: true }, outcome, 1_000_000, 1).isUncertain).toBe(true);
});

test('an unknown outcome is retried and stays recorded', () => {
  const first = decideProgress(before, { kind: 'unknown', reply: 'lost' }, 1_000_000, 0);
  expect(first).toMatchObject({ state: 'deferred', isUncertain: true, attempts: 1, lastCode: null });
  const second = decideProgress({ ...before, ...first }, { kind: 'sent', code: 250, reply: 'ok' }, 2_000_000, 0);
  expect(second).toMatchObject({ state: 'sent', isUncertain: true });
});

test('a recipient that is always deferred fails after five days, with a last attempt at the end', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (jitters) => {
      let now = before.queuedAt;
      let progress = decideProgress(before, { kind: 'deferred', code: 450, reply: '' }, now, 0);
      let attempts = 1;
      for (const jitter of jitters) {
        if (progress.nextAttemptAt === null) break;
        expect(progress.nextAttemptAt).toBeGreaterThan(now);
        now = progress.nextAttemptAt;
        progress = decideProgress({ ...before, attempts }, { kind: 'deferred', code: 450, reply: '' }, now, jitter);
        attempts += 1;
        expect(attempts).toBeLessThan(100);
      }
      expect(progress).toMatchObject({ state: 'failed', isExpired: true });
      expect(now - before.queuedAt).toBe(RETRY_POLICY.expiresAfterMs);
    }),
  );
});

test('a growing queue is diagnosed as unreachable recipients or too few consumers', () => {
  expect(diagnoseQueue({ dueLagMs: 0, deferred: 0, due: 3 })).toBe('healthy');
  expect(diagnoseQueue({ dueLagMs: 1000, deferred: 500, due: 3 })).toBe('recipient_down');
  expect(diagnoseQueue({ dueLagMs: 10 * MINUTE, deferred: 0, due: 500 })).toBe('too_few_consumers');
  expect(diagnoseQueue({ dueLagMs: 2 * MINUTE, deferred: 0, due: 0 })).toBe('healthy');
  expect(diagnoseQueue({ dueLagMs: 2 * MINUTE + 1, deferred: 9, due: 3 })).toBe('too_few_consumers');
  expect(diagnoseQueue({ dueLagMs: 0, deferred: 3, due: 3 })).toBe('recipient_down');
  expect(diagnoseQueue({ dueLagMs: 0, deferred: 1, due: 0 })).toBe('recipient_down');
  expect(diagnoseQueue({ dueLagMs: 0, deferred: 2, due: 3 })).toBe('healthy');
});

describe('a recipient on a suppression list', () => {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const queuedAt = Date.UTC(2026, 10, 1);
  const decide = (until: number | 'never' | 'unknown', more: { isSuppressed?: boolean; now?: number } = {}) =>
    decideProgress(
      { attempts: 0, queuedAt, isUncertain: false, isSuppressed: more.isSuppressed ?? false },
      { kind: 'suppressed', reply: 'E_RECIPIENT_SUPPRESSED', until },
      more.now ?? queuedAt,
      0,
    );

  test('waits for the end of the suppression, with the reason', () => {
    expect(decide(queuedAt + 20 * HOUR)).toMatchObject({
      state: 'deferred',
      nextAttemptAt: queuedAt + 20 * HOUR + 5 * MINUTE,
      lastReply: 'not sent until 2026-11-01 20:05 UTC, because this address refused mail of this domain',
      isSuppressed: true,
    });
  });

  test.each([
    [queuedAt + 7 * 24 * HOUR, /^5\.7\.1 not sent until 2026-11-08 00:05 UTC, because this address refused/],
    ['never' as const, /^5\.7\.1 not sent, because this address refused mail of this domain$/],
  ])('fails at once if that ends too late: %s', (until, reply) => {
    expect(decide(until)).toMatchObject({
      state: 'failed',
      nextAttemptAt: null,
      lastReply: expect.stringMatching(reply),
    });
  });

  test('is attempted once more after 24 hours if the end is unknown, then fails', () => {
    const first = decide('unknown');
    expect(first).toMatchObject({ state: 'deferred', nextAttemptAt: queuedAt + 24 * HOUR, isSuppressed: true });
    expect(decide('unknown', { isSuppressed: true, now: queuedAt + 24 * HOUR })).toMatchObject({ state: 'failed' });
    expect(decide('unknown', { now: queuedAt + 110 * HOUR })).toMatchObject({ state: 'failed' });
  });
});
