/**
 * Tests that a third-party client library can use the mailbox as an app would: read, search, flag, move, write with an attachment,
 * send, see mail arrive.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Json } from '../../support/mail/jmap.ts';
import { confirmSession, type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/**
 * Name of the library in a variable, so that TypeScript does not resolve its types: they are TypeScript files with enums, which
 * this project's compiler settings reject.
 */
const LIBRARY: string = 'jmap-jam';

let server: TestServer;
const clients: { jam: Json; user: MailUser; accountId: string; roles: Map<string | null, string> }[] = [];

beforeAll(async () => {
  const { JamClient } = (await import(LIBRARY)) as { JamClient: new (options: object) => Json };
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  for (const name of ['ann', 'bob']) {
    const user = await registerUser(server, name);
    await confirmSession(server, user.token);
    const { body } = await server.call('POST', '/v1/me/tokens', { name: 'jam' }, user.token);
    const jam = new JamClient({ sessionUrl: `${server.url}/.well-known/jmap`, bearerToken: body.token });
    const accountId = await jam.getPrimaryAccount();
    const [{ list }] = await jam.api.Mailbox.get({ accountId });
    clients.push({ jam, user, accountId, roles: new Map(list.map(({ role, id }: Json) => [role, id])) });
  }
});
afterAll(() => server[Symbol.asyncDispose]());

it('jmap-jam writes, sends, receives, searches, flags and moves', async () => {
  const [ann, bob] = clients;
  if (!ann || !bob) throw new Error('there are two users');
  const [sent, inbox, archive, drafts] = [
    ann.roles.get('sent'),
    bob.roles.get('inbox'),
    bob.roles.get('archive'),
    ann.roles.get('drafts'),
  ];
  const [before] = await bob.jam.api.Email.get({ accountId: bob.accountId, ids: [] });

  const file = await ann.jam.uploadBlob(ann.accountId, new Blob(['zebra,1\n'], { type: 'text/csv' }));
  const [made] = await ann.jam.api.Email.set({
    accountId: ann.accountId,
    create: {
      draft: {
        mailboxIds: { [drafts ?? '']: true },
        keywords: { $draft: true },
        from: [{ name: 'Ann', email: ann.user.email }],
        to: [{ name: 'Bob', email: bob.user.email }],
        subject: 'Numbers for the giraffe',
        textBody: [{ partId: 'text', type: 'text/plain' }],
        attachments: [{ blobId: file.blobId, type: 'text/csv', name: 'numbers.csv', disposition: 'attachment' }],
        bodyValues: { text: { value: 'They are attached.' } },
      },
    },
  });
  const emailId = made.created?.draft?.id ?? '';
  expect(emailId).not.toBe('');
  const [identities] = await ann.jam.api.Identity.get({ accountId: ann.accountId });
  // In its `using` member, the library's request lists only the capability of the method, not that of the implicit Email/set.
  const [submitted] = await ann.jam.api.EmailSubmission.set({
    accountId: ann.accountId,
    create: { s: { emailId, identityId: identities.list[0]?.id } },
    onSuccessUpdateEmail: { '#s': { mailboxIds: { [sent ?? '']: true }, keywords: { $seen: true } } },
  });
  expect(submitted.created?.s).toBeDefined();
  const [copies] = await ann.jam.api.Email.get({
    accountId: ann.accountId,
    ids: [emailId],
    properties: ['mailboxIds', 'keywords'],
  });
  expect(copies.list[0]).toMatchObject({ mailboxIds: { [sent ?? '']: true }, keywords: { $seen: true } });

  const arrived = await until('the message in the changes', async () => {
    const [changes] = await bob.jam.api.Email.changes({ accountId: bob.accountId, sinceState: before.state });
    const [{ list }] = await bob.jam.api.Email.get({
      accountId: bob.accountId,
      ids: changes.created,
      properties: ['subject'],
    });
    return list.find(({ subject }: Json) => subject === 'Numbers for the giraffe')?.id;
  });
  const [{ found, emails }] = await bob.jam.requestMany((t: Json) => {
    const found = t.Email.query({
      accountId: bob.accountId,
      filter: { inMailbox: inbox ?? '', text: 'giraffe attached' },
    });
    const emails = t.Email.get({
      accountId: bob.accountId,
      ids: found.$ref('/ids'),
      properties: ['subject', 'from', 'attachments', 'bodyValues', 'textBody'],
      fetchTextBodyValues: true,
    });
    return { found, emails };
  });
  expect(found.ids).toEqual([arrived]);
  const [email] = emails.list;
  expect(email).toMatchObject({ subject: 'Numbers for the giraffe', from: [{ name: 'Ann', email: ann.user.email }] });
  expect(Object.values(email?.bodyValues ?? {})).toMatchObject([{ value: 'They are attached.' }]);
  const part = email?.attachments?.[0];
  const download = await bob.jam.downloadBlob({
    accountId: bob.accountId,
    blobId: part?.blobId ?? '',
    fileName: part?.name ?? '',
    mimeType: part?.type ?? '',
  });
  expect(await download.text()).toBe('zebra,1\n');

  await bob.jam.api.Email.set({
    accountId: bob.accountId,
    update: {
      [arrived]: {
        'keywords/$flagged': true,
        'keywords/$seen': true,
        [`mailboxIds/${inbox}`]: null,
        [`mailboxIds/${archive}`]: true,
      },
    },
  });
  const { body } = await server.call('GET', `/v1/messages/${arrived}`, undefined, bob.user.token);
  expect(body).toMatchObject({ is_flagged: true, is_read: true, folder_id: archive });
});
