/**
 * Chooses the route of mail to a destination, and has one transport per route. Messages on one route share a connection, one after
 * another. Different routes never wait for each other.
 */

import { createClock } from '../../shared/settings/clock.ts';
import { type Settings, settingsOf } from '../../shared/settings/settings.ts';
import { ACCEPTED_RECIPIENTS, countEvent } from '../../shared/telemetry/counters.ts';
import { openSuppressionList } from '../bindings/suppression-list.ts';
import type { TransportSettings } from '../bindings/transport-settings.ts';
import { type Carried, chooseTransport, splitTransports } from '../domain/transport-choice.ts';
import { parseTransport, withCredentials } from '../domain/transport-url.ts';
import { isHosted, readDomainSettings } from '../domains/hosted-domains.ts';
import { unsealTransport } from '../domains/transport-secret.ts';
import type { DomainSettings } from '../store/domain-store.ts';
import { recordSendingRefusal } from '../store/sending-problem-store.ts';
import { createEmailServiceTransport } from './transports/email-service-transport.ts';
import { createSmtpTransport } from './transports/smtp-transport.ts';
import type { Transport } from './transports/transport.ts';

export interface RouteTable {
  /** Finds the route of a message to a domain. @returns `local`, `held`, or a key to pass to `use`. */
  find(domain: string, senderDomain: string, message: Carried): Promise<string>;
  /** Runs work with the transport of a route, once the route is free. */
  use(key: string, work: (transport: Transport) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** How mail reaches a domain: a mailbox here, or the first of some transports that takes it. */
type Way = 'local' | 'held' | readonly string[];

/** Finds the way of mail from a domain to a domain. Asks for the settings of each domain once. */
export function createWayFinder(env: Env): (domain: string, senderDomain: string) => Promise<Way> {
  const settingsOfDomains = new Map<string, Promise<DomainSettings>>();

  async function readRow(domain: string): Promise<DomainSettings['row']> {
    const known = settingsOfDomains.get(domain) ?? readDomainSettings(env, domain);
    settingsOfDomains.set(domain, known);
    return (await known).row;
  }

  return async (domain, senderDomain) => {
    const row = await readRow(domain);
    if (row?.isHeld) return 'held';
    if (isHosted(env, domain, row)) return 'local';
    const sealed = row?.transport ?? (await readRow(senderDomain))?.transport;
    return sealed ? [unsealTransport(sealed, env)] : listDefaultTransports(settingsOf(env));
  };
}

/** Finds the transports of mail from a domain to other servers without a route of their own. */
export async function findOutsideTransports(env: Env, senderDomain: string): Promise<readonly string[]> {
  const sealed = (await readDomainSettings(env, senderDomain)).row?.transport;
  return sealed ? [unsealTransport(sealed, env)] : listDefaultTransports(settingsOf(env));
}

export function createRouteTable(env: Env, settings: TransportSettings): RouteTable {
  const findWay = createWayFinder(env);
  const ways = new Map<string, { transport: Transport; turn: Promise<void> }>();

  function openWay(key: string): { transport: Transport; turn: Promise<void> } {
    const known = ways.get(key) ?? { transport: createTransport(env, settings, key), turn: Promise.resolve() };
    ways.set(key, known);
    return known;
  }

  return {
    async find(domain, senderDomain, message) {
      const way = await findWay(domain, senderDomain);
      return typeof way === 'string' ? way : chooseTransport(way, message);
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

/** Lists the default transports from the settings. @throws MisconfiguredError if a setting has a bad value. */
export function listDefaultTransports(settings: Settings): string[] {
  const { MAIL_TRANSPORT, MAIL_TRANSPORT_USER, MAIL_TRANSPORT_PASSWORD } = settings;
  return splitTransports(MAIL_TRANSPORT).map((each) =>
    withCredentials(each, MAIL_TRANSPORT_USER, MAIL_TRANSPORT_PASSWORD),
  );
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
  return address.kind === 'smtp'
    ? createSmtpTransport(address, settings)
    : createEmailServiceTransport(env.EMAIL, openSuppressionList(env), {
        recordRefusal: (refusal) => recordSendingRefusal(env.DIRECTORY, { ...refusal, at: createClock(env)() }),
        countAccepted: (recipients) => countEvent(env, ACCEPTED_RECIPIENTS, 'accepted', recipients),
      });
}
