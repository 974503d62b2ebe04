/** Attacks on mail: relaying, injected headers, foreign senders, hostile attachments, forged results. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import { type Attack, parsed, type Reply, SECRET, send, sendJson } from './attack.ts';
import { importAndRead } from './mail-html.ts';
import type { World } from './world.ts';

const CRLF = 'x\r\nBcc: hidden@evil.test';
const TO = [{ email: 'friend@elsewhere.test' }];

const sendMail = (world: World, message: object) =>
  sendJson(world, 'POST', '/v1/messages', world.eve.token, { to: TO, subject: 'x', body: 'x', ...message });
const mail = (name: string, message: object, refusal: readonly number[] = [400]): Attack => ({
  name,
  attempt: (world) => sendMail(world, message),
  refusal,
});

/** Messages with CR or LF in each member that becomes a header. */
const INJECTIONS: Readonly<Record<string, object>> = {
  subject: { subject: CRLF },
  'subject, LF only': { subject: 'x\nBcc: hidden@evil.test' },
  'subject, CR only': { subject: 'x\rBcc: hidden@evil.test' },
  'name of a recipient': { to: [{ name: CRLF, email: 'a@elsewhere.test' }] },
  'address of a recipient': { to: [{ email: 'a@elsewhere.test\r\nBcc: b@evil.test' }] },
  'name of a Cc': { cc: [{ name: CRLF, email: 'a@elsewhere.test' }] },
  'address of a Bcc': { bcc: [{ email: 'a@elsewhere.test>\r\nRCPT TO:<b@evil.test' }] },
  'name of the sender': { from: { name: CRLF, email: 'eve@example.test' } },
  'In-Reply-To': { in_reply_to: '<a@b>\r\nBcc: hidden@evil.test' },
  References: { references: ['<a@b>\r\nBcc: hidden@evil.test'] },
  'file name': { attachments: [{ file_name: 'a\r\nX-Evil: 1.txt', content_type: 'text/plain', content: 'eA==' }] },
  'content type': { attachments: [{ file_name: 'a.txt', content_type: 'text/plain\r\nX-Evil: 1', content: 'eA==' }] },
};

const FOREIGN_FROM = [
  'victim@example.test',
  'postmaster@example.test',
  'ceo@elsewhere.test',
  'eve@example.test, victim@example.test',
  'EVE@evil.test',
  '<>',
  '',
];

/** Sends commands over SMTP and returns the last reply. Stops at the first refusal. */
async function dialog(world: World, lines: readonly string[]): Promise<Reply> {
  const socket = connect(world.server.smtpPort, '127.0.0.1');
  let text = '';
  const read = async (): Promise<string> => {
    for (;;) {
      const last = /(?:^|\n)(\d{3}) [^\n]*\n$/.exec(text);
      if (last) {
        const answer = text;
        text = '';
        return answer;
      }
      const [chunk] = await once(socket, 'data');
      text += String(chunk);
    }
  };
  try {
    let answer = await read();
    for (const line of lines) {
      socket.write(`${line}\r\n`);
      answer = await read();
      if (/^[45]/.test(answer)) break;
    }
    return { status: Number(answer.slice(0, 3)), text: answer, headers: {} };
  } finally {
    socket.destroy();
  }
}
const RELAYS = [
  'x@gmail.test',
  'x%gmail.test@example.test',
  '"x@gmail.test"@example.test',
  '@example.test:x@gmail.test',
  'x@gmail.test@example.test',
  'nobody-at-all@example.test',
  'x!gmail.test',
];

const inbound = (world: World, raw: string, from: string, to: string, clientIp = '203.0.113.66') =>
  send(world, 'POST', '/v1/inbound', {
    headers: {
      authorization: `Bearer ${world.tokens.inbound}`,
      'x-envelope-from': from,
      'x-envelope-to': to,
      'x-client-ip': clientIp,
      'x-helo': 'evil.test',
    },
    body: raw,
  });

/** Delivers a message to eve and reads its summary and its results of authentication. */
async function deliver(world: World, subject: string, headers: string, from = 'a@elsewhere.test'): Promise<Reply> {
  const raw = `${headers}Subject: ${subject}\r\nTo: eve@example.test\r\nMessage-ID: <${subject.replaceAll(' ', '-')}@evil.test>\r\nDate: ${new Date().toUTCString()}\r\n\r\nhello\r\n`;
  const reply = await inbound(world, raw, from, 'eve@example.test');
  if (reply.status !== 202) return reply;
  const read = async () => {
    const { data } = parsed(await sendJson(world, 'GET', '/v1/folders/all/messages?limit=200', world.eve.token));
    const junk = parsed(await sendJson(world, 'GET', '/v1/folders/junk/messages?limit=200', world.eve.token)).data;
    return [...data, ...junk].find((message: { subject: string }) => message.subject === subject)?.id;
  };
  let id = await read();
  for (let tries = 0; id === undefined && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    id = await read();
  }
  return sendJson(world, 'GET', `/v1/messages/${id}`, world.eve.token);
}

/** Checks that the service's own verdicts of a delivered message do not say that a sender check passed. */
const claimsPass = (reply: Reply): string | null => {
  const { authentication, subject } = parsed(reply);
  if (!subject) return `the message was not read: ${reply.text}`;
  return /"(?:dmarc|dkim|spf)":(?:"pass"|\{[^}]*"result":"pass")/.test(JSON.stringify(authentication ?? {}))
    ? `authentication is ${JSON.stringify(authentication)}`
    : null;
};
const FORGED_RESULTS = 'From: security@bank.test\r\n';

/** A zip archive with one file of 64 MiB of zeros. */
function zipBomb(): Buffer {
  const data = deflateRawSync(Buffer.alloc(64 << 20));
  const name = Buffer.from('bomb.txt');
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(data.length, 18);
  head.writeUInt32LE(64 << 20, 22);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, name, data]);
}
const attachment = (name: string, type: string, content: string, disposition = 'attachment') =>
  `--b\r\n\r\nhello\r\n--b\r\nContent-Type: ${type}\r\nContent-Disposition: ${disposition}; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${content}\r\n--b--`;

/** Active files as attachments. They must be served as downloads that no browser runs. */
const ACTIVE: readonly (readonly [string, string])[] = [
  ['page.html', 'text/html'],
  ['picture.svg', 'image/svg+xml'],
  ['page.xhtml', 'application/xhtml+xml'],
  ['data.xml', 'text/xml'],
  ['script.js', 'text/javascript'],
  ['photo.png', 'text/html'],
];
const neverRendered = ({ headers }: Reply): string | null => {
  const policy = String(headers['content-security-policy']);
  const safe =
    /sandbox/.test(policy) && !/allow-scripts/.test(policy) && headers['x-content-type-options'] === 'nosniff';
  return safe && /^attachment/.test(String(headers['content-disposition'])) ? null : JSON.stringify(headers);
};

const PATH_NAMES = [
  '../../etc/passwd',
  '..\\..\\boot.ini',
  '/etc/passwd',
  'C:\\x.txt',
  '....//x',
  'a\u202Egpj.exe',
  '.',
];

export const MAIL_ATTACKS: readonly Attack[] = [
  ...RELAYS.map(
    (to): Attack => ({
      name: `mail for ${to} over SMTP`,
      attempt: (world) => dialog(world, ['EHLO evil.test', 'MAIL FROM:<a@evil.test>', `RCPT TO:<${to}>`]),
      refusal: [501, 550, 551, 553, 554],
    }),
  ),
  {
    name: 'mail in the name of a hosted address to the outside over SMTP',
    attempt: (world) => dialog(world, ['EHLO evil.test', 'MAIL FROM:<eve@example.test>', 'RCPT TO:<x@gmail.test>']),
    refusal: [501, 550, 553, 554],
  },
  ...['x@gmail.test', 'x%gmail.test@example.test', 'nobody-at-all@example.test'].map(
    (to): Attack => ({
      name: `mail for ${to} through the gateway`,
      attempt: (world) => inbound(world, 'From: a@evil.test\r\nSubject: x\r\n\r\nx\r\n', 'a@evil.test', to),
      refusal: [400, 422],
    }),
  ),
  {
    name: 'mail through the gateway with an envelope of another line',
    attempt: (world) =>
      inbound(world, 'From: a@evil.test\r\n\r\nx\r\n', 'a@evil.test', 'eve@example.test, <x@gmail.test>'),
    refusal: [202, 400, 422],
    gotThrough: ({ status, text }) =>
      status === 202 && !/gmail\.test[^}]*"smtp_code":55\d/.test(text) ? `the recipients are ${text}` : null,
  },
  ...Object.entries(INJECTIONS).map(([where, message]) => mail(`CR or LF in the ${where}`, message)),
  ...FOREIGN_FROM.map((email) => mail(`the sender "${email}"`, { from: { email } }, [400, 403])),
  mail('a header as an unknown member', { headers: { Sender: 'victim@example.test' } }),
  mail('the member user_id of another user', { user_id: 'victim' }),
  mail('no recipient', { to: [] }),
  mail(
    'the attachment of a made-up id',
    { attachments: [{ attachment_id: '00000000-0000-4000-8000-000000000000' }] },
    [400, 404],
  ),
  mail('the draft of another user', { draft_id: '00000000-0000-4000-8000-000000000000' }, [400, 404, 409]),
  {
    name: 'the draft of the victim as one’s own',
    attempt: (world) => sendMail(world, { draft_id: world.ids.draft_id }),
    refusal: [400, 403, 404, 409],
  },
  mail('an attachment that is a program', {
    attachments: [{ file_name: 'a.exe', content_type: 'application/octet-stream', content: 'TVo=' }],
  }),
  mail('recipients beyond the limit', {
    to: Array.from({ length: 1_001 }, (_, i) => ({ email: `a${i}@elsewhere.test` })),
  }),
  mail('a recipient that is a route', { to: [{ email: '@a.test:b@c.test' }] }),
  mail('a recipient with a NUL', { to: [{ email: 'a\u0000@c.test' }] }),
  mail('an option of a program as a recipient', { to: [{ email: '-oQ/tmp@' }] }),
  {
    name: 'a Bcc read by its other recipients',
    attempt: async (world) => {
      const subject = 'a hidden copy';
      await sendMail(world, {
        to: [{ email: world.victim.email }],
        bcc: [{ email: 'hidden@elsewhere.test' }],
        subject,
      });
      for (let tries = 0; tries < 300; tries++) {
        const { data } = parsed(
          await sendJson(world, 'GET', '/v1/folders/inbox/messages?limit=50', world.victim.token),
        );
        const id = data.find((message: { subject: string }) => message.subject === subject)?.id;
        if (id) return sendJson(world, 'GET', `/v1/messages/${id}`, world.victim.token);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error('the message did not arrive');
    },
    refusal: [200],
    isByOwner: true,
    gotThrough: async (reply, world) => {
      const raw = await sendJson(world, 'GET', `/v1/messages/${parsed(reply).id}/raw`, world.victim.token);
      return (reply.text + raw.text).includes('hidden@elsewhere.test') ? 'the address of the Bcc is shown' : null;
    },
  },
  ...PATH_NAMES.map(
    (name): Attack => ({
      name: `an attachment named ${name.replace('\u202E', '<RLO>')}`,
      attempt: (world) =>
        importAndRead(
          world,
          'multipart/mixed; boundary=b',
          attachment(name.replaceAll('\\', '\\\\'), 'text/plain', 'eA=='),
        ),
      refusal: [200],
      gotThrough: (reply) => {
        const [{ file_name: shown = '' } = {}] = parsed(reply).attachments ?? [];
        return shown === '' || /[/\\\u202E\r\n]/.test(shown) || /^\.+$/.test(shown) ? `the name is "${shown}"` : null;
      },
    }),
  ),
  ...['../../../v1/me', '..%2f..%2fraw', '%2e%2e%2fraw', 'page.html%00.png'].map(
    (name): Attack => ({
      name: `the attachment ${name} of the victim's message read by eve`,
      attempt: (world) =>
        sendJson(world, 'GET', `/v1/messages/${world.ids.message_id}/attachments/${name}`, world.eve.token),
      refusal: [400, 403, 404],
    }),
  ),
  ...ACTIVE.map(
    ([name, type]): Attack => ({
      name: `the attachment ${name} of type ${type} shown as a page`,
      attempt: async (world) => {
        const body = attachment(name, type, Buffer.from('<script>alert(1)</script>').toString('base64'), 'inline');
        const { id } = parsed(await importAndRead(world, 'multipart/mixed; boundary=b', body));
        return sendJson(world, 'GET', `/v1/messages/${id}/attachments/${name}`, world.eve.token);
      },
      refusal: [200],
      gotThrough: neverRendered,
    }),
  ),
  {
    name: 'the raw bytes of a message shown as a page',
    attempt: async (world) => {
      const { id } = parsed(await importAndRead(world, 'text/html', '<script>alert(1)</script>'));
      return sendJson(world, 'GET', `/v1/messages/${id}/raw`, world.eve.token);
    },
    refusal: [200],
    gotThrough: ({ headers }) =>
      /sandbox/.test(String(headers['content-security-policy'])) &&
      headers['x-content-type-options'] === 'nosniff' &&
      !/html/.test(String(headers['content-type']))
        ? null
        : JSON.stringify(headers),
  },
  {
    name: 'a zip bomb through import',
    attempt: (world) =>
      importAndRead(
        world,
        'multipart/mixed; boundary=b',
        attachment('bomb.zip', 'application/zip', zipBomb().toString('base64')),
      ),
    refusal: [200, 400, 413],
    gotThrough: async (_, { server }) =>
      (await server.call('GET', '/v1/health')).status === 200 ? null : 'the server is unhealthy',
  },
  {
    name: 'multipart bodies 5,000 deep through import',
    attempt: (world) =>
      importAndRead(
        world,
        'multipart/mixed; boundary=b0',
        Array.from(
          { length: 5_000 },
          (_, i) => `--b${i}\r\nContent-Type: multipart/mixed; boundary=b${i + 1}\r\n\r\n`,
        ).join(''),
      ),
    refusal: [200, 400, 413],
    gotThrough: async (_, { server }) =>
      (await server.call('GET', '/v1/health')).status === 200 ? null : 'the server is unhealthy',
  },
  {
    name: 'a forged Authentication-Results of this server',
    attempt: (world) =>
      deliver(
        world,
        'forged results',
        `Authentication-Results: localhost; dmarc=pass header.from=bank.test; dkim=pass header.d=bank.test; spf=pass\r\nAuthentication-Results: example.test; dmarc=pass header.from=bank.test\r\n${FORGED_RESULTS}`,
      ),
    refusal: [200, 422],
    gotThrough: (reply) => (reply.status === 422 ? null : claimsPass(reply)),
  },
  {
    name: 'a forged chain of ARC',
    attempt: (world) =>
      deliver(
        world,
        'forged arc',
        `ARC-Seal: i=1; a=rsa-sha256; cv=none; d=google.com; s=arc; b=AAAA\r\nARC-Message-Signature: i=1; a=rsa-sha256; d=google.com; s=arc; h=from; bh=AAAA; b=AAAA\r\nARC-Authentication-Results: i=1; mx.google.com; dmarc=pass header.from=bank.test\r\n${FORGED_RESULTS}`,
      ),
    refusal: [200, 422],
    gotThrough: (reply) => (reply.status === 422 ? null : claimsPass(reply)),
  },
  {
    name: 'a hosted domain as the author of mail from outside',
    attempt: (world) => deliver(world, 'from the boss', 'From: The Boss <victim@example.test>\r\n'),
    refusal: [200, 422, 503],
    gotThrough: (reply) => {
      if (reply.status !== 200) return null;
      const { authentication } = parsed(reply);
      return authentication?.unproven_hosted_domain === true
        ? claimsPass(reply)
        : `the message is not marked: ${JSON.stringify(authentication)}`;
    },
  },
  {
    name: 'two From headers, of which one is honest',
    attempt: (world) => deliver(world, 'two authors', 'From: a@elsewhere.test\r\nFrom: security@bank.test\r\n'),
    refusal: [200, 422],
    gotThrough: (reply) => (reply.status === 422 ? null : claimsPass(reply)),
  },
  {
    name: 'smuggled mail: a bare LF ends the data',
    attempt: (world) =>
      dialog(world, [
        'EHLO evil.test',
        'MAIL FROM:<a@evil.test>',
        'RCPT TO:<eve@example.test>',
        'DATA',
        'From: a@evil.test\r\n\r\nx\n.\nMAIL FROM:<b@evil.test>\nRCPT TO:<x@gmail.test>\nDATA\n.\r\n.',
      ]),
    refusal: [250, 500, 501, 550, 554, 521],
    gotThrough: async (_, world) => {
      const queue = await world.server.call('GET', '/v1/outbound');
      return JSON.stringify(queue.body).includes('gmail.test') ? `the queue holds ${JSON.stringify(queue.body)}` : null;
    },
  },
  {
    name: 'VRFY to find addresses',
    attempt: (world) => dialog(world, ['EHLO evil.test', 'VRFY victim']),
    refusal: [252, 500, 502, 550],
    gotThrough: ({ text }) => (text.includes('victim@') ? text : null),
  },
  ...['/v1/jmap', '/v1/jmap/api', '/.well-known/jmap', '/v1/jmap/download/x/y/z'].map(
    (path): Attack => ({
      name: `${path} with a cookie from another site`,
      attempt: (world) =>
        send(world, 'POST', path, {
          headers: { cookie: world.victim.cookie, origin: 'https://evil.test', 'content-type': 'application/json' },
          body: '{}',
        }),
      refusal: [400, 401, 403, 404, 405],
    }),
  ),
  {
    name: 'the search for words of another mailbox',
    attempt: (world) => sendJson(world, 'GET', `/v1/messages?q=${SECRET}`, world.eve.token),
    refusal: [200],
    gotThrough: (reply) => (parsed(reply).data.length === 0 ? null : reply.text),
  },
  {
    name: 'SQL and index syntax in a search',
    attempt: (world) =>
      sendJson(
        world,
        'GET',
        `/v1/messages?q=${encodeURIComponent(`x" OR body MATCH '${'zz'}*' NEAR/0 --`)}`,
        world.eve.token,
      ),
    refusal: [200, 400],
  },
  {
    name: 'a long search of nested negations',
    attempt: (world) =>
      sendJson(world, 'GET', `/v1/messages?q=${encodeURIComponent('-('.repeat(2_000))}`, world.eve.token),
    refusal: [400, 414],
  },
];
