/** Messages and dependencies for the tests of the checks. */
import type { CheckDependencies, MessageToCheck } from '../../../../workers/mail/checks/index.ts';

/** Dependencies without a resolver or a scanner. Every check must work without them. */
export const offlineDependencies: CheckDependencies = {
  resolveDns: async () => ({ ok: false, error: { kind: 'unreachable', reason: 'offline' } }),
  fetch: async () => Promise.reject(new Error('offline')),
  connect: () => {
    throw new Error('offline');
  },
  now: () => Date.UTC(2026, 10, 21),
};

export function toRaw(fields: { headers?: readonly string[]; body?: string }): Uint8Array {
  const headers = fields.headers ?? [
    'From: Ada <ada@example.org>',
    'To: bob@example.test',
    'Subject: Lunch',
    'Date: Sat, 21 Nov 2026 09:00:00 +0000',
    'Message-ID: <1@example.org>',
  ];
  return Buffer.from(`${headers.join('\r\n')}\r\n\r\n${fields.body ?? 'Hello.'}\r\n`, 'latin1');
}

export function toMessage(fields: { headers?: readonly string[]; body?: string }): MessageToCheck {
  return {
    raw: toRaw(fields),
    envelope: { from: 'ada@example.org', to: ['bob@example.test'] },
    clientIp: null,
    helo: null,
    direction: 'inbound',
  };
}
