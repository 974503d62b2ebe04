/** Thunderbird finds the bridge from an address alone, makes the account, and reads and sends over TLS. */
import { createServer, request } from 'node:http';
import { expect, it } from 'vitest';
import { startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { startThunderbird } from '../../support/bridge/thunderbird.ts';
import { awaitMessage, importWhole } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';

const HOST = 'imap.example.test';

/** A proxy that answers each host over HTTP with the server, and no tunnel. */
async function startProxy(target: string): Promise<{ port: number; asked: string[]; stop: () => void }> {
  const asked: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const { host, pathname, search } = new URL(incoming.url ?? '', 'http://proxy');
    asked.push(host + pathname);
    request(`${target}${pathname}${search}`, { headers: { host } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    }).end();
  });
  server.on('connect', (_incoming, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { port: typeof address === 'object' && address ? address.port : 0, asked, stop: () => server.close() };
}

it.skipIf(!hasClient('thunderbird'))('finds the bridge by autoconfig, and works over TLS', async () => {
  await using world = await startBridgeWorld({}, { vars: { MAIL_BRIDGE_HOST: HOST } });
  const ann = await world.addPerson('ann');
  await importWhole(world.server, ann.token, toMail('one'), 'message/rfc822');
  const proxy = await startProxy(world.server.url);
  const thunderbird = await startThunderbird({
    email: ann.email,
    appToken: ann.appToken,
    imapPort: world.bridge.imapPort,
    smtpPort: world.bridge.smtpPort,
    prefs: {
      'network.proxy.type': 1,
      'network.proxy.http': '127.0.0.1',
      'network.proxy.http_port': proxy.port,
      'network.proxy.ssl': '127.0.0.1',
      'network.proxy.ssl_port': proxy.port,
      'network.dns.localDomains': HOST,
      'network.proxy.no_proxies_on': HOST,
    },
  });
  try {
    const found = await thunderbird.run(
      `const { FetchConfig } = ChromeUtils.importESModule('resource:///modules/accountcreation/FetchConfig.sys.mjs');
      const { incoming, outgoing, source } = await FetchConfig.fromISP('example.test', arguments[0], new AbortController().signal);
      const pick = ({ type, hostname, port, socketType, auth, username }) => ({ type, hostname, port, socketType, auth, username });
      return { incoming: pick(incoming), outgoing: pick(outgoing), source };`,
      ann.email,
    );
    expect(proxy.asked).toContain('autoconfig.example.test/mail/config-v1.1.xml');
    // Thunderbird's numbers: 3 is TLS from the first byte, and a password that is sent as it is.
    const servers = { hostname: HOST, socketType: 3, auth: 3, username: '%EMAILADDRESS%' };
    expect(found.incoming).toEqual({ ...servers, type: 'imap', port: 993 });
    expect(found.outgoing).toEqual({ ...servers, type: 'smtp', port: 465 });
    // The test's bridge has other ports, and a certificate of its own.
    await thunderbird.run(
      `const load = (name) => ChromeUtils.importESModule('resource:///modules/accountcreation/' + name + '.sys.mjs');
      const { FetchConfig } = load('FetchConfig');
      const [email, password, imaps, smtps] = arguments;
      Cc['@mozilla.org/security/certoverride;1'].getService(Ci.nsICertOverrideService)
        .setDisableAllSecurityChecksAndLetAttackersInterceptMyData(true);
      const config = await FetchConfig.fromISP('example.test', email, new AbortController().signal);
      load('AccountConfig').AccountConfig.replaceVariables(config, 'Ann', email, password);
      config.incoming.port = imaps;
      config.outgoing.port = smtps;
      config.incoming.password = config.outgoing.password = password;
      const account = await load('CreateInBackend').CreateInBackend.createAccountInBackend(config);
      const inbox = await until(() => account.incomingServer.rootFolder.descendants.find((folder) => folder.name === 'INBOX'));
      await until(async () => { await update(inbox); return withSubject(inbox, 'one'); });
      MailServices.accounts.defaultAccount = account;
      await compose('found', 'nsMsgDeliverNow', email);`,
      ann.email,
      ann.appToken,
      world.bridge.imapsPort,
      world.bridge.smtpsPort,
    );
    await awaitMessage(world.server, ann, 'inbox', 'found');
  } finally {
    await thunderbird.stop();
    proxy.stop();
  }
});
