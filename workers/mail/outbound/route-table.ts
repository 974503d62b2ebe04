/**
 * Chooses the route of mail to a destination, and has one transport per route. Messages on one route share a connection, one after
 * another. Different routes never wait for each other.
 */

import { type Settings, settingsOf } from '../../shared/settings/settings.ts';
import type { TransportSettings } from '../bindings/transport-settings.ts';
import { parseTransport, withCredentials } from '../domain/transport-url.ts';
import { isHosted, readDomainSettings } from '../domains/hosted-domains.ts';
import { unsealTransport } from '../domains/transport-secret.ts';
import type { DomainSettings } from '../store/domain-store.ts';
import { createEmailServiceTransport } from './transports/email-service-transport.ts';
import { createSmtpTransport } from './transports/smtp-transport.ts';
import type { Transport } from './transports/transport.ts';

export interface RouteTable {
  /** Finds the route to a domain. @returns `local`, `held`, or a key to pass to `use`. */
  find(domain: string, senderDomain: string): Promise<string>;
  /** Runs work with the transport of a route, once the route is free. */
  use(key: string, work: (transport: Transport) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export function createRouteTable(env: Env, settings: TransportSettings): RouteTable {
  const settingsOfDomains = new Map<string, Promise<DomainSettings>>();
  const ways = new Map<string, { transport: Transport; turn: Promise<void> }>();

  async function readRow(domain: string): Promise<DomainSettings['row']> {
    const known = settingsOfDomains.get(domain) ?? readDomainSettings(env, domain);
    settingsOfDomains.set(domain, known);
    return (await known).row;
  }

  function openWay(key: string): { transport: Transport; turn: Promise<void> } {
    const known = ways.get(key) ?? { transport: createTransport(env, settings, key), turn: Promise.resolve() };
    ways.set(key, known);
    return known;
  }

  return {
    async find(domain, senderDomain) {
      const row = await readRow(domain);
      if (row?.isHeld) return 'held';
      if (isHosted(env, domain, row)) return 'local';
      const sealed = row?.transport ?? (await readRow(senderDomain))?.transport;
      return sealed ? unsealTransport(sealed, env) : toDefaultTransport(settingsOf(env));
    },
    async use(key, work) {
      const way = openWay(key);
      const mine = way.turn.then(() => work(way.transport));
      way.turn = mine.catch(() => {});
      await mine;
    },
    async close() {
      await Promise.all([...ways.values()].map((way) => way.transport.close()));
    },
  };
}

/** Makes the default transport from the settings. @throws MisconfiguredError if a setting has a bad value. */
function toDefaultTransport(settings: Settings): string {
  const { MAIL_TRANSPORT, MAIL_TRANSPORT_USER, MAIL_TRANSPORT_PASSWORD } = settings;
  return withCredentials(MAIL_TRANSPORT, MAIL_TRANSPORT_USER, MAIL_TRANSPORT_PASSWORD);
}

function createTransport(env: Env, settings: TransportSettings, text: string): Transport {
  const address = parseTransport(text);
  if (typeof address === 'string') {
    const reply = `the transport is misconfigured: ${address}`;
    return {
      send: async (message) => message.to.map(() => ({ kind: 'deferred', code: null, reply })),
      close: async () => {},
    };
  }
  return address.kind === 'smtp' ? createSmtpTransport(address, settings) : createEmailServiceTransport(env.EMAIL);
}
