/** Sends mail to a scripted outside server: states, retries, reports, holds, DKIM keys, limits. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  awaitMessage,
  awaitSunk,
  listFolder,
  type MailUser,
  postInbound,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { type ScriptedSmtp, type ScriptStage, startScriptedSmtp } from '../../support/mail/scripted-smtp.ts';
import { hasPythonModules } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let world: ScriptedSmtp;
beforeAll(async () => {
  server = await startServer({
    vars: {
      MAIL_HOLD_SECONDS: '0',
      MAIL_RETRY_SECONDS: '1',
      SMTP_TIMEOUT_SECONDS: '2',
      SEND_LIMIT_PER_HOUR: '60',
      MAIL_RECIPIENTS_MAX: '10',
    },
  });
  ann = await registerUser(server, 'ann');
  world = await startScriptedSmtp();
  await route('far.test', world.port);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await world.stop();
});

const route = async (domain: string, port: number) => {
  const transport = `smtp://127.0.0.1:${port}?tls=off`;
  const { status } = await server.call('POST', '/v1/domains', { domain, is_hosted: false, transport });
  expect(status).toBe(201);
};

const send = (message: object, user = ann) => server.call('POST', '/v1/messages', message, user.token);
const to = (...emails: string[]) => emails.map((email) => ({ email }));

// biome-ignore lint/suspicious/noExplicitAny: states as returned by the API
type Delivery = any[];
const readDelivery = async (id: string): Promise<Delivery> =>
  (await server.call('GET', `/v1/messages/${id}`, undefined, ann.token)).body.delivery;

const awaitDelivery = (id: string, what: string, isThere: (delivery: Delivery) => boolean) =>
  until(what, async () => {
    const delivery = await readDelivery(id);
    return isThere(delivery) ? delivery : undefined;
  });

const awaitFinal = (id: string) =>
  awaitDelivery(id, 'every state is final', (all) =>
    all.every((each) => ['sent', 'delivered', 'failed', 'canceled'].includes(each.state)),
  );

describe('recipients', () => {
  it('that answer 250, 450 and 550 reach the right states, and the failure is reported', async () => {
    const replies: Record<string, string> = { 'b@far.test': '450 4.2.1 busy', 'c@far.test': '550 5.1.1 no such user' };
    world.script = (stage, path) => (stage === 'rcpt' ? (replies[path] ?? null) : null);
    const subject = `three ${Date.now()}`;
    const { body } = await send({ to: to('a@far.test', 'b@far.test', 'c@far.test'), subject, body: 'x' });
    const delivery = await awaitDelivery(body.id, 'three states', (all) => all.every((each) => each.last_reply));
    expect(delivery).toMatchObject([
      { email: 'a@far.test', state: 'sent', last_reply: '250 2.0.0 taken' },
      { email: 'b@far.test', state: 'deferred', last_reply: '450 4.2.1 busy' },
      { email: 'c@far.test', state: 'failed', last_reply: '550 5.1.1 no such user' },
    ]);
    expect(Date.parse(delivery[1].next_attempt_at)).toBeGreaterThan(0);
    const report = await awaitMessage(server, ann, 'inbox', 'Undelivered mail returned to sender');
    expect(report.body).toContain('<c@far.test>');
    expect(report.body).not.toContain('<b@far.test>');
    expect(report.headers.in_reply_to).toBe(world.taken[0]?.raw.toString().match(/^Message-ID: (.*)\r$/im)?.[1]);
    world.script = () => null;
    expect(await awaitFinal(body.id)).toMatchObject([{ state: 'sent' }, { state: 'sent' }, { state: 'failed' }]);
    // Recipients whose server had accepted the message must not receive it again.
    expect(world.taken.filter((taken) => taken.to.includes('a@far.test'))).toHaveLength(1);
  });

  const stages: ScriptStage[] = ['connect', 'ehlo', 'mail', 'rcpt', 'data', 'final_dot'];
  for (const answer of ['drop', 'hang', '421 4.3.2 later'] as const) {
    it(`get the message after a first attempt with "${answer}" at any stage`, async () => {
      const kind = answer.slice(0, 4).trim();
      const tries = stages.map(async (stage) => {
        let isFirst = true;
        const shaky = await startScriptedSmtp({
          script: (at) => {
            if (at !== stage || !isFirst) return null;
            isFirst = false;
            return answer;
          },
        });
        const domain = `${stage.replace('_', '-')}-${kind}.test`;
        await route(domain, shaky.port);
        const { body } = await send({ to: to(`x@${domain}`), subject: stage, body: 'x' });
        const [final] = await awaitFinal(body.id);
        await shaky.stop();
        return [stage, final.state, shaky.taken.length];
      });
      // Duplicates may occur only if the outcome was unknown.
      const copies = (stage: ScriptStage) => (stage === 'final_dot' && kind !== '421' ? 2 : 1);
      expect(await Promise.all(tries)).toEqual(stages.map((stage) => [stage, 'sent', copies(stage)]));
    });
  }

  it('of one destination do not wait for other destinations: one hangs, and another gets its mail', async () => {
    const hanging = await startScriptedSmtp({ script: (stage) => (stage === 'connect' ? 'hang' : null) });
    try {
      await route('hang.test', hanging.port);
      world.script = () => null;
      const stuck = await Promise.all(
        [1, 2, 3].map(() => send({ to: to('x@hang.test'), subject: 'stuck', body: 'x' })),
      );
      const { body } = await send({ to: to('x@hang.test', 'free@far.test'), subject: 'both', body: 'x' });
      const delivery = await awaitDelivery(body.id, 'the other has it', (all) => all[1].state === 'sent');
      expect(delivery[0].state).not.toBe('sent');
      expect(new Set(stuck.map((answer) => answer.status))).toEqual(new Set([202]));
    } finally {
      await hanging.stop();
    }
  });
});

describe('the operator', () => {
  it('holds a destination, sees it in the queue, and releases it', async () => {
    await server.call('PATCH', '/v1/domains/far.test', { is_held: true });
    world.script = () => null;
    const { body } = await send({ to: to('held@far.test'), subject: 'held', body: 'x' });
    await awaitDelivery(body.id, 'it is on hold', ([only]) => only.last_reply === 'the destination is held');
    const item = await until('the queue shows it', async () => {
      const { body: queue } = await server.call('GET', '/v1/outbound?destination=far.test');
      const held = queue.data.find((each: { last_reply: string }) => each.last_reply === 'the destination is held');
      if (!held) return undefined;
      expect(new Set(queue.destinations.map((each: { messages: number }) => each.messages > 0))).toEqual(
        new Set([true]),
      );
      return held;
    });
    await server.call('PATCH', '/v1/domains/far.test', { is_held: false });
    expect((await server.call('POST', `/v1/outbound/${item.id}/retry`)).status).toBe(202);
    expect(await awaitFinal(body.id)).toMatchObject([{ state: 'sent' }]);
    await until('the queue no longer has it', async () => {
      const { body: queue } = await server.call('GET', '/v1/outbound?destination=far.test');
      return queue.data.some((each: { id: string }) => each.id === item.id) ? undefined : true;
    });
  });

  it('retries a failed message, which removes it from the error queue', async () => {
    world.script = (stage, path) => (stage === 'rcpt' && path === 'later@far.test' ? '550 5.1.1 not yet' : null);
    const { body } = await send({ to: to('later@far.test'), subject: 'try again', body: 'x' });
    await awaitDelivery(body.id, 'it failed', ([only]) => only.state === 'failed');
    const failed = await until('the error queue shows it', async () => {
      const { body: errors } = await server.call('GET', '/v1/outbound/errors');
      return errors.data.find((each: { detail: string }) => each.detail.includes('5.1.1 not yet'));
    });
    expect(failed).toMatchObject({ kind: 'delivery', user_id: ann.userId });
    world.script = () => null;
    const retry = (recipients?: string[]) =>
      server.call('POST', `/v1/outbound/${failed.id}/retry`, recipients && { recipients });
    expect(await retry()).toMatchObject({ status: 409, body: { code: 'nothing_to_retry' } });
    expect((await retry(['stranger@far.test'])).status).toBe(400);
    expect((await retry(['Later@far.test'])).body).toMatchObject({ recipients: 1 });
    expect(await awaitFinal(body.id)).toMatchObject([{ state: 'sent' }]);
  });

  it('is the only one with access: a user gets 403, and a request without credentials 401', async () => {
    for (const path of ['/v1/outbound', '/v1/outbound/errors', '/v1/domains', '/v1/quarantine', '/v1/inbound']) {
      expect([path, (await server.call('GET', path, undefined, ann.token)).status]).toEqual([path, 403]);
      expect([path, (await server.call('GET', path, undefined, null)).status]).toEqual([path, 401]);
    }
  });

  const hasDkimpy = hasPythonModules('dkim', 'nacl');
  it.skipIf(!hasDkimpy)('creates DKIM keys, and python3-dkim verifies both signatures of outgoing mail', async () => {
    const { status, body: domain } = await server.call('POST', '/v1/domains/example.test/dkim-keys');
    expect(status).toBe(201);
    // biome-ignore lint/suspicious/noExplicitAny: DNS records as returned by the API
    const records = domain.dns_records.filter((each: any) => each.purpose.startsWith('DKIM'));
    expect(records).toHaveLength(2);
    const subject = `signed ${Date.now()}`;
    await send({ to: to('judge@outside.test'), subject, body: 'Grüße\n', html: '<p>Grüße</p>' });
    const sunk = await awaitSunk(server, subject, (message) => message.envelope.to[0] === 'judge@outside.test');
    const path = join(server.directory, 'signed.eml');
    writeFileSync(path, sunk.raw);
    const answers = Object.fromEntries(
      records.map((each: { name: string; value: string }) => [`${each.name}.`, each.value]),
    );
    const script = `
import dkim, json
records = json.loads(${JSON.stringify(JSON.stringify(answers))})
message = dkim.DKIM(open(${JSON.stringify(path)}, 'rb').read())
dns = lambda name, timeout=5: records[name.decode()].encode()
print(json.dumps([message.verify(idx=n, dnsfunc=dns) for n in (0, 1)]))`;
    const judged = spawnSync('/usr/bin/python3', ['-c', script], { encoding: 'utf8' });
    expect(judged.stdout.trim()).toBe('[true, true]');
  });
});

describe('validation', () => {
  it('keeps rejected messages in the error queue, and accepts a retry when the reason is gone', async () => {
    const wrong: [object, number, string][] = [
      [{ subject: 'x', body: 'x' }, 400, 'no_recipient'],
      [{ to: to('not an address'), body: 'x' }, 400, 'bad_address'],
      [
        { to: Array.from({ length: 11 }, (_, n) => ({ email: `r${n}@far.test` })), body: 'x' },
        400,
        'too_many_recipients',
      ],
      [
        { to: to('a@far.test'), attachments: [{ file_name: 'a.EXE', content_type: 'text/plain', content: 'YQ==' }] },
        400,
        'blocked_attachment',
      ],
    ];
    for (const [message, status, code] of wrong) {
      const answer = await send(message);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    }
    const { body: errors } = await server.call('GET', '/v1/outbound/errors?limit=4');
    expect(errors.data.map((each: { code: string }) => each.code)).toEqual(wrong.map(([, , code]) => code).reverse());
  });

  it('rejects CR and LF in headers, and From addresses of others', async () => {
    for (const message of [
      { to: [{ email: 'a@far.test', name: 'x\r\nBcc: b@far.test' }] },
      { to: to('a@far.test\r\nRCPT TO:<b@far.test>') },
      { to: to('a@far.test'), subject: 'x\nX-Evil: 1' },
      { to: to('a@far.test'), in_reply_to: '<a@b>\r\nX: y' },
      { to: to('a@far.test'), attachments: [{ file_name: 'a\r\n.txt', content_type: 'text/plain', content: '' }] },
      { from: { email: 'boss@example.test' }, to: to('a@far.test') },
      // Bad tags must be rejected, because a tagged address is used unchanged in MAIL FROM.
      { from: { email: 'ann+x> SIZE=1 y@example.test' }, to: to('a@far.test') },
      { from: { email: 'ann+"x@example.test' }, to: to('a@far.test') },
      { from: { email: `ann+${'x'.repeat(100)}@example.test` }, to: to('a@far.test') },
      { to: to('"a> SIZE=1"@far.test') },
    ]) {
      expect([message, (await send({ subject: 's', body: 'b', ...message })).status]).toEqual([message, 400]);
    }
  });

  it('accepts an attachment of exactly 5 MB in the request, and larger ones only as uploads', async () => {
    const file = (size: number) => ({
      file_name: 'big.bin',
      content_type: 'application/octet-stream',
      content: Buffer.alloc(size).toString('base64'),
    });
    world.script = () => null;
    const fits = await send({ to: to('size@far.test'), subject: 'fits', attachments: [file(5 * 1024 * 1024)] });
    expect(fits.status).toBe(202);
    const over = await send({ to: to('size@far.test'), subject: 'over', attachments: [file(5 * 1024 * 1024 + 1)] });
    expect(over.status).toBe(413);
  });
});

describe('an account', () => {
  it('over its sending limit gets 429, and the message stays as a draft', async () => {
    const cat = await registerUser(server, 'cat');
    await server.stop();
    await server.start({ SEND_LIMIT_PER_HOUR: '2' });
    const subject = `too much ${Date.now()}`;
    const message = { to: to('a@far.test'), subject, body: 'kept' };
    expect((await send(message, cat)).status).toBe(202);
    expect((await send(message, cat)).status).toBe(202);
    const limited = await send(message, cat);
    expect([limited.status, limited.body.code]).toEqual([429, 'send_limit_reached']);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3_500);
    const [draft] = (await listFolder(server, cat, 'drafts')).filter((each) => each.subject === subject);
    expect(draft).toMatchObject({ is_draft: true });
  });

  it('undoes a held message, which becomes a draft with its attachment', async () => {
    const dan = await registerUser(server, 'dan');
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const file = { file_name: 'a.txt', content_type: 'text/plain', content: 'YWJj' };
    const sent = await send(
      { to: to('a@far.test'), subject: 'wait', body: 'b', send_at: sendAt, attachments: [file] },
      dan,
    );
    expect(sent.body.delivery).toMatchObject([{ state: 'held' }]);
    const canceled = await server.call('POST', `/v1/messages/${sent.body.id}/cancel`, undefined, dan.token);
    expect(canceled).toMatchObject({ status: 200, body: { delivery: [{ state: 'canceled' }] } });
    const draft = await server.call('GET', `/v1/drafts/${canceled.body.draft_id}`, undefined, dan.token);
    expect(draft.body).toMatchObject({ subject: 'wait', body: 'b', attachments: [{ file_name: 'a.txt', size: 3 }] });
    expect(await listFolder(server, dan, 'sent')).toEqual([]);
    expect((await server.call('POST', `/v1/messages/${sent.body.id}/cancel`, undefined, dan.token)).status).not.toBe(
      200,
    );
  });
});

it('a bounce from outside turns "sent" into "failed", only for its recipient', async () => {
  const eve = await registerUser(server, 'eve');
  world.script = () => null;
  const { body } = await send({ to: to('gone@far.test', 'here@far.test'), subject: 'later', body: 'x' }, eve);
  const read = async () => (await server.call('GET', `/v1/messages/${body.id}`, undefined, eve.token)).body;
  const sent = await until('both are sent', async () => {
    const message = await read();
    return message.delivery.every((each: { state: string }) => each.state === 'sent') ? message : undefined;
  });
  const report = [
    'From: MAILER-DAEMON@far.test',
    `To: ${eve.email}`,
    'Subject: failure notice',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    '',
    'It failed.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; far.test',
    '',
    'Final-Recipient: rfc822; gone@far.test',
    'Action: failed',
    'Status: 5.1.1',
    '',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    `Message-ID: ${sent.headers.message_id}`,
    '',
    '--b--',
    '',
  ].join('\r\n');
  await postInbound(server, report, { from: '<>', to: eve.email });
  const delivery = await until('the bounce is processed', async () => {
    const message = await read();
    return message.delivery[0].state === 'failed' ? message.delivery : undefined;
  });
  expect(delivery).toMatchObject([
    { state: 'failed', last_reply: expect.stringContaining('5.1.1') },
    { state: 'sent' },
  ]);
});
