/** Messages over the limit of Email Service: refused before anything is stored, or sent by another transport of the list. */
import { env as bindings } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UserPrincipal } from '../../../workers/identity/index.ts';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { toSession } from '../../../workers/mail/jmap/objects/session.ts';
import { storeUpload } from '../../../workers/mail/jmap/objects/uploads.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import type { Sender } from '../../../workers/mail/outbound/submission/sender-address.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { readProfile } from '../../../workers/mail/routes/profile.ts';
import { createEmailService, type EmailServiceStandIn } from '../../support/mail/email-service.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

let service: EmailServiceStandIn;
let env: Env;
let sender: Sender & { readonly email: string };

async function register(): Promise<typeof sender> {
  const email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  return { userId: value(account).userId, name: 'Ann', email };
}

beforeEach(async () => {
  service = createEmailService();
  env = {
    ...(bindings as Env),
    EMAIL: service.binding,
    MAIL_TRANSPORT: 'email-service',
    MAIL_HOLD_SECONDS: '0',
    MAIL_HINTS: 'lost',
  } as unknown as Env;
  sender = await register();
});

// biome-ignore lint/suspicious/noExplicitAny: the session of a JMAP client
type Json = any;

const MB = 1_000_000;
/** Two files, because one in a request has at most 5 MB. */
const files = (bytes: number) =>
  [Math.ceil(bytes / 2), Math.floor(bytes / 2)].map((size, n) => ({
    ...{ file_name: `${n}.bin`, content_type: 'application/octet-stream' },
    content: Buffer.alloc(size, n + 1).toString('base64'),
  }));

function submit(bytes: number, ...to: string[]) {
  const request = { to: to.map((email) => ({ email })), subject: 'big', body: 'hi', attachments: files(bytes) };
  return submitMessage(env, sender, request, { idempotencyKey: null, requestJson: JSON.stringify(request) });
}

const listKeys = async () => (await env.BLOBS.list({ prefix: `mail/${sender.userId}/sent/` })).objects.length;

it('the loser of two equal submissions at once leaves no copy of an uploaded file', async () => {
  const source = [Buffer.alloc(100_000, 1)];
  const upload = value(await storeUpload(env, sender.userId, { contentType: 'image/png', sizeBytes: 100_000, source }));
  const attachments = [{ attachment_id: upload.attachmentId }];
  const request = { to: [{ email: 'bob@far.test' }], subject: 'once', body: 'hi', attachments };
  const options = { idempotencyKey: 'once', requestJson: JSON.stringify(request) };
  const both = await Promise.all([1, 2].map(() => submitMessage(env, sender, request, options)));
  expect(new Set(both.map((outcome) => value(outcome).messageId)).size).toBe(1);
  expect(await listKeys()).toBe(2);
});

describe('over 5 MiB, encoded', () => {
  it('a message to another server is refused before anything is stored, with the size that fits', async () => {
    const refused = await submit(6 * MB, 'bob@far.test');
    expect(refused).toMatchObject({ ok: false, error: { status: 413, code: 'too_large' } });
    const message = refused.ok ? '' : (refused.error.errors?.[0]?.message ?? '');
    expect(message).toMatch(
      /^Mail to far\.test .* 5\.2 MB of encoded message: 3\.8 MB of files \(\d+ bytes\)\. These files have 6\.0 MB\.$/,
    );
    expect(await listKeys()).toBe(0);

    // The named size fits, and one line of Base64 more for each file does not.
    const fitting = Number(/\((\d+) bytes\)/.exec(message)?.[1]) - 57;
    value(await submit(fitting, 'bob@far.test'));
    await sendDue(env, [sender.userId]);
    expect(service.sunk).toHaveLength(1);
    expect((await submit(fitting + 4 * 57, 'bob@far.test')).ok).toBe(false);
  });

  it('a message to a mailbox here has the limit of the account', async () => {
    const here = await register();
    value(await submit(8 * MB, here.email));
    await sendDue(env, [sender.userId]);
    const inbox = async () => value(await openMailbox(env, here.userId).listMessages('inbox', { offset: 0 }, 10));
    await expect.poll(async () => (await inbox()).map(({ subject }) => subject)).toEqual(['big']);
    expect(await submit(8 * MB, here.email, 'bob@far.test')).toMatchObject({ error: { code: 'too_large' } });
  });

  it('a message takes the next transport of the list', async () => {
    env = { ...env, MAIL_TRANSPORT: 'email-service, smtp://127.0.0.1:9?tls=off' } as unknown as Env;
    const { messageId } = value(await submit(6 * MB, 'bob@far.test'));
    value(await submit(1 * MB, 'bob@far.test'));
    await sendDue(env, [sender.userId]);
    expect(service.sunk).toHaveLength(1);
    // Nothing listens there; the attempt shows the way that it took.
    const [state] = value(await openMailbox(env, sender.userId).readMessage(messageId)).delivery;
    expect(state).toMatchObject({ state: 'deferred', lastCode: null });
  });
});

it('the profile shows the limit of mail to other servers beside that of the account', async () => {
  const limits = async (transport: string) => {
    const profile = value(await readProfile({ ...env, MAIL_TRANSPORT: transport } as unknown as Env, sender.userId));
    return [profile.attachment_limit_bytes, profile.outside_attachment_limit_bytes];
  };
  const account = 25 * 1024 * 1024;
  const [, outside = 0] = await limits('email-service');
  expect(outside).toBeGreaterThan(3.7 * MB);
  expect((await submit(outside - 57, 'bob@far.test')).ok).toBe(true);
  expect(await limits('email-service, smtp://relay.test')).toEqual([account, account]);
});

it('a JMAP client is told the limit of the way of the mail, and of an upload what the server takes', async () => {
  const readLimits = async () => {
    const user = { userId: sender.userId, userName: 'ann', email: sender.email } as unknown as UserPrincipal;
    const session = await toSession(env, user, new Request('http://localhost/v1/jmap/session'));
    const { accounts, capabilities, state } = session as Json;
    const { maxSizeAttachmentsPerEmail: attachments } =
      accounts[sender.userId].accountCapabilities['urn:ietf:params:jmap:mail'];
    return {
      state,
      attachments,
      upload: capabilities['urn:ietf:params:jmap:core'].maxSizeUpload,
    };
  };
  const throughService = await readLimits();
  const { outside_attachment_limit_bytes: outside } = value(await readProfile(env, sender.userId));
  expect(throughService).toMatchObject({ attachments: outside, upload: 40 * 1024 * 1024 });
  value(await submit(throughService.attachments, 'bob@far.test'));
  expect((await submit(throughService.attachments + 128 * 1024, 'bob@far.test')).ok).toBe(false);

  env = { ...env, MAIL_TRANSPORT: 'email-service, smtp://127.0.0.1:9?tls=off' } as unknown as Env;
  const throughRelay = await readLimits();
  expect(throughRelay.attachments).toBe(30 * 1024 * 1024);
  expect(throughRelay.state).not.toBe(throughService.state);
});
