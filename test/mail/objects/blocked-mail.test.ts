/** Tests mail that our own spam or virus check refuses. It returns to Drafts with the reason, is not in Sent, and reaches nobody. */
import { env as bindings } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { retryMail } from '../../../workers/mail/outbound/submission/retry-mail.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';

const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR', '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

let service: EmailServiceStandIn;
let env: Env;
let userId: string;
let email: string;
let mailbox: MailboxRpc;
beforeEach(async () => {
  service = createEmailService();
  env = { ...(bindings as Env), EMAIL: service.binding, MAIL_HOLD_SECONDS: '0', MAIL_HINTS: 'lost' } as unknown as Env;
  email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  userId = value(account).userId;
  mailbox = openMailbox(env, userId);
});

async function send(request: object): Promise<void> {
  const whole = { to: [{ email: 'bob@far.test' }], bcc: [{ email: 'carl@far.test' }], subject: 'hi', ...request };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(whole) };
  value(await submitMessage(env, { userId, name: 'Ann', email }, whole, options));
  await sendDue(env, [userId]);
}
const list = async (folder: string) => value(await mailbox.listMessages(folder, { offset: 0 }, 100));

it.each([
  ['spam', { body: GTUBE }, /^5\.7\.1 blocked by the spam check: /],
  [
    'virus',
    {
      body: 'see the file',
      attachments: [{ file_name: 'a.txt', content_type: 'text/plain', content: Buffer.from(EICAR).toString('base64') }],
    },
    /^5\.7\.1 blocked by the virus check: /,
  ],
])('refused by the %s check comes back to Drafts with the reason', async (_, request, reason) => {
  await send(request);
  expect(service.sunk).toEqual([]);
  expect(await list('sent')).toEqual([]);
  const [message, ...others] = await list('drafts');
  expect(others).toEqual([]);
  const draft = value(await mailbox.readDraft(message?.messageId ?? ''));
  expect(draft.content).toMatchObject({ subject: 'hi', body: request.body, refusal: expect.stringMatching(reason) });
  expect(draft.content.bcc).toMatchObject([{ email: 'carl@far.test' }]);
  expect(draft.attachments.map(({ fileName }) => fileName)).toEqual('attachments' in request ? ['a.txt'] : []);
  await expect
    .poll(async () => (await list('inbox')).map(({ subject }) => subject))
    .toEqual(['Undelivered mail returned to sender']);
});

it('is sent once, by its author: the operator cannot send it again', async () => {
  await send({ body: GTUBE });
  const [message] = await list('drafts');
  const readErrors = async () =>
    (
      await env.DIRECTORY.prepare("SELECT error_id FROM mail_error WHERE user_id = ? AND kind = 'delivery'")
        .bind(userId)
        .all<{ error_id: string }>()
    ).results;
  await expect.poll(readErrors).toHaveLength(1);
  const [row] = await readErrors();
  expect(await retryMail(env, row?.error_id ?? '', ['bob@far.test'])).toMatchObject({
    ok: false,
    error: { status: 404 },
  });

  const draftId = message?.messageId ?? '';
  const draft = value(await mailbox.readDraft(draftId));
  const content = { ...draft.content, body: 'hello', refusal: null };
  value(await mailbox.replaceDraft(draftId, content, null, draft.revision));
  const request = { draft_id: draftId };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  value(await submitMessage(env, { userId, name: 'Ann', email }, request, options));
  await sendDue(env, [userId]);
  expect(service.sunk.map(({ to }) => to).sort()).toEqual(['bob@far.test', 'carl@far.test']);
  expect(await list('sent')).toHaveLength(1);
  expect(await list('drafts')).toEqual([]);
});
