import { describe, expect, it } from 'vitest';
import {
  composeReport,
  type Report,
  readDeliveryStatus,
  toStatus,
} from '../../../../workers/mail/domain/delivery-report.ts';
import {
  decideDelay,
  decideProgress,
  diagnoseQueue,
  isFinal,
  RECIPIENT_STATES,
  RETRY_POLICY,
} from '../../../../workers/mail/domain/recipient-state.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BEFORE = { attempts: 2, queuedAt: 0, isUncertain: false };

describe('a recipient', () => {
  it('fails after five days, with a warning to the sender after four hours', () => {
    expect(RETRY_POLICY).toEqual({
      firstDelayMs: MINUTE_MS,
      delayMsMax: 4 * HOUR_MS,
      expiresAfterMs: 120 * HOUR_MS,
      warnAfterMs: 4 * HOUR_MS,
    });
  });
  it('waits a bounded time after any number of attempts', () => {
    const policy = { ...RETRY_POLICY, delayMsMax: Number.POSITIVE_INFINITY };
    expect(decideDelay(5000, 0, policy)).toBe(MINUTE_MS * 2 ** 40);
    expect(decideDelay(41, 0, policy)).toBe(MINUTE_MS * 2 ** 40);
    expect(decideDelay(40, 0, policy)).toBe(MINUTE_MS * 2 ** 39);
    expect(decideDelay(1, 1)).toBe(45_000);
  });
  it('is tried a last time on expiry, and then fails', () => {
    const outcome = { kind: 'deferred', code: 451, reply: 'later' } as const;
    const end = RETRY_POLICY.expiresAfterMs;
    expect(decideProgress(BEFORE, outcome, end - 1, 0)).toEqual({
      state: 'deferred',
      attempts: 3,
      nextAttemptAt: end,
      lastCode: 451,
      lastReply: 'later',
      isUncertain: false,
      isExpired: false,
    });
    expect(decideProgress(BEFORE, outcome, end, 0)).toMatchObject({
      state: 'failed',
      nextAttemptAt: null,
      isExpired: true,
    });
  });
  it('is sent, delivered or refused with the code of the reply', () => {
    const outcome = (kind: 'sent' | 'delivered' | 'refused') =>
      decideProgress(BEFORE, { kind, code: 250, reply: 'x' }, 1, 0);
    const common = {
      attempts: 3,
      nextAttemptAt: null,
      lastCode: 250,
      lastReply: 'x',
      isUncertain: false,
      isExpired: false,
    };
    expect(outcome('sent')).toEqual({ ...common, state: 'sent' });
    expect(outcome('delivered')).toEqual({ ...common, state: 'delivered' });
    expect(outcome('refused')).toEqual({ ...common, state: 'failed' });
  });
  it('stays uncertain after an attempt with an unknown outcome', () => {
    const deferred = { kind: 'deferred', code: null, reply: '' } as const;
    expect(decideProgress({ ...BEFORE, isUncertain: true }, deferred, 1, 0).isUncertain).toBe(true);
    expect(decideProgress(BEFORE, { kind: 'unknown', reply: '' }, 1, 0).isUncertain).toBe(true);
    expect(decideProgress(BEFORE, deferred, 1, 0).isUncertain).toBe(false);
  });
  it('is final in four of its seven states', () => {
    expect(RECIPIENT_STATES.filter(isFinal)).toEqual(['sent', 'delivered', 'failed', 'canceled']);
  });
});

describe('a growing queue', () => {
  it('has too few consumers if due work waits for more than two minutes', () => {
    expect(diagnoseQueue({ dueLagMs: 2 * MINUTE_MS, deferred: 0, due: 9 })).toBe('healthy');
    expect(diagnoseQueue({ dueLagMs: 2 * MINUTE_MS + 1, deferred: 0, due: 9 })).toBe('too_few_consumers');
  });
  it('has unreachable recipients if as many are deferred as due for the first time', () => {
    expect(diagnoseQueue({ dueLagMs: 0, deferred: 2, due: 3 })).toBe('healthy');
    expect(diagnoseQueue({ dueLagMs: 0, deferred: 3, due: 3 })).toBe('recipient_down');
    expect(diagnoseQueue({ dueLagMs: 0, deferred: 1, due: 1 })).toBe('recipient_down');
    expect(diagnoseQueue({ dueLagMs: 1_000, deferred: 1, due: 0 })).toBe('recipient_down');
    expect(diagnoseQueue({ dueLagMs: 0, deferred: 0, due: 0 })).toBe('healthy');
  });
});

describe('a delivery report', () => {
  const report: Report = {
    action: 'failed',
    reportingHost: 'mail.example.test',
    from: 'MAILER-DAEMON@example.test',
    to: 'ann@example.test',
    messageId: '<r1@example.test>',
    now: Date.UTC(2026, 10, 21),
    queuedAt: Date.UTC(2026, 10, 20),
    givesUpAt: Date.UTC(2026, 10, 25),
    originalHeader: 'Subject: x\nTo: y\r\n',
    originalMessageId: null,
    boundary: 'b0undary',
    recipients: [{ email: 'b@far.test', status: '5.1.1', reply: '550 no', isRemote: true, isUncertain: false }],
  };
  it('of a failure gives the reply, without a time of the next attempt', () => {
    const raw = composeReport(report);
    expect(raw).toContain('Subject: Undelivered mail returned to sender\r\n');
    expect(raw).toContain(
      '\r\nYour message could not be delivered to all recipients.\r\n\r\n<b@far.test>\r\n    550 no\r\n',
    );
    expect(raw).toContain('Diagnostic-Code: smtp; 550 no\r\n');
    for (const absent of ['In-Reply-To', 'X-Original-Message-ID', 'Will-Retry-Until', 'may have arrived']) {
      expect(raw).not.toContain(absent);
    }
    expect(raw.endsWith('\r\nSubject: x\r\nTo: y\r\n\r\n--b0undary--\r\n')).toBe(true);
  });
  it('of a delay gives the end of the attempts', () => {
    const raw = composeReport({ ...report, action: 'delayed', originalMessageId: '<m1@example.test>' });
    expect(raw).toContain('Subject: Delivery of your message is delayed\r\n');
    expect(raw).toContain('delivery will be retried until Wed, 25 Nov 2026 00:00:00 GMT.');
    expect(raw).toContain('In-Reply-To: <m1@example.test>\r\n');
    expect(raw).toContain('X-Original-Message-ID: <m1@example.test>\r\n');
  });
  it('returns 32 KiB of the header, in lines of at most 998 characters', () => {
    const part = (originalHeader: string) =>
      composeReport({ ...report, originalHeader })
        .split('text/rfc822-headers\r\n\r\n')[1]
        ?.split('\r\n\r\n--')[0] ?? '';
    expect(part('x'.repeat(2000))).toBe('x'.repeat(998));
    expect(part('xyz\n'.repeat(20_000)).replaceAll('\r', '').length).toBe(32 * 1024 - 1);
  });
  it('has 400 characters of a long reply for programs, and all of it wrapped for people', () => {
    const reply = `550 ${'word '.repeat(100)}`;
    const recipients = report.recipients.map((recipient) => ({ ...recipient, reply }));
    const raw = composeReport({ ...report, recipients });
    expect(/Diagnostic-Code: smtp; (.*)\r\n/.exec(raw)?.[1]).toBe(reply.slice(0, 400));
    expect(new Set(raw.match(/^ {4}.*word/gm)?.map((line) => line.length <= 76))).toEqual(new Set([true]));
  });
  it('has a status made from the basic code if the server gave no matching one', () => {
    for (const code of [550, 551, 553]) expect(toStatus(code, null, false, 'failed')).toBe('5.1.1');
    expect(toStatus(552, null, false, 'failed')).toBe('5.3.4');
    expect(toStatus(554, '4.0.0', false, 'failed')).toBe('5.7.1');
    expect(toStatus(500, null, false, 'failed')).toBe('5.0.0');
    expect(toStatus(null, null, false, 'failed')).toBe('5.0.0');
    expect(toStatus(450, null, false, 'delayed')).toBe('4.4.7');
    expect(toStatus(550, null, true, 'failed')).toBe('5.4.7');
    expect(toStatus(550, '5.2.2', true, 'failed')).toBe('5.2.2');
  });
});

describe('a delivery status of another server', () => {
  const group = (email: string) => `Final-Recipient: rfc822; ${email}\nAction: Failed\nStatus: 5.1.1 (no)`;
  const read = (...groups: string[]) => readDeliveryStatus(['Reporting-MTA: dns; x', ...groups].join('\n\n'));
  it('is read for at most 200 recipients', () => {
    const all = read(...Array.from({ length: 300 }, (_, i) => group(`${i}@far.test`)));
    expect([all.length, all.at(-1)?.email]).toEqual([200, '199@far.test']);
  });
  it('may omit the address type, the status and the diagnostic', () => {
    expect(read('Final-Recipient: <B@far.test>\nAction: DELAYED\nStatus: bad\n: x\nno colon')).toEqual([
      { email: 'b@far.test', action: 'delayed', status: '', diagnostic: '' },
    ]);
  });
  it('omits groups without an address or a known action', () => {
    expect(read('Action: failed', 'Final-Recipient: rfc822; b', 'Final-Recipient: rfc822; b@far.test')).toEqual([]);
    expect(read(`${group('b@far.test')}\nAction: danced`)).toEqual([]);
  });
  it('keeps 500 characters of a diagnostic', () => {
    const [only] = read(`${group('b@far.test')}\nDiagnostic-Code: ${'x'.repeat(501)}`);
    expect(only).toEqual({ email: 'b@far.test', action: 'failed', status: '5.1.1', diagnostic: 'x'.repeat(500) });
  });
});
