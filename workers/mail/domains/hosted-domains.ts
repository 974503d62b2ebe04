/** The domains that this service hosts, and the settings of domains. */
import { findUnrevoked } from '../../identity/index.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { createDomainStore, type DomainRow, type DomainSettings, findDomainSettings } from '../store/domain-store.ts';

/** Domains of the configuration (MAIL_DOMAINS), in lower case. */
export const listConfiguredDomains = (env: Env): readonly string[] => settingsOf(env).MAIL_DOMAINS;

/**
 * Reads the settings of a domain in a replica, or in this isolate. They reflect all changes that were acknowledged more than ten
 * seconds ago.
 * @param domain in lower case.
 */
export async function readDomainSettings(env: Env, domain: string): Promise<DomainSettings> {
  const find = (database: D1Database | D1DatabaseSession) => findDomainSettings(database, domain);
  // Other domains without settings are not kept: there are as many as correspondents have.
  const isKept = ({ row, keys }: DomainSettings) =>
    row !== null || keys.length > 0 || listConfiguredDomains(env).includes(domain);
  const found = await findUnrevoked(env.DIRECTORY, `domain ${domain}`, find, isKept);
  if (!found) throw new Error('the query for the settings of a domain returned no row');
  return found;
}

/** Whether the service hosts a domain, according to its row. */
export const isHosted = (env: Env, domain: string, row: DomainRow | null): boolean =>
  listConfiguredDomains(env).includes(domain) || row?.isHosted === true;

/**
 * Finds the main domain of a hosted domain: the domain that it is an alias of, or itself. Addresses of the main domain receive the
 * mail. Asks the primary.
 * @returns null if the domain is not hosted: neither configured nor added by the operator.
 */
export async function findMainDomain(env: Env, domain: string): Promise<string | null> {
  const name = domain.toLowerCase();
  if (listConfiguredDomains(env).includes(name)) return name;
  const row = await createDomainStore(env.DIRECTORY).findDomain(name);
  return row?.isHosted ? (row.aliasOf ?? name) : null;
}

/** As `isHosted`, by settings that may be ten seconds old. */
export async function isHostedDomain(env: Env, domain: string): Promise<boolean> {
  const name = domain.toLowerCase();
  return listConfiguredDomains(env).includes(name) || isHosted(env, name, (await readDomainSettings(env, name)).row);
}

/** Whether addresses may be created in a domain. An alias has no addresses of its own; it shares those of its main domain. */
export const mayHaveAddresses = async (env: Env, domain: string): Promise<boolean> =>
  (await findMainDomain(env, domain)) === domain.toLowerCase();
