/** The domains that this service hosts. */
import { settingsOf } from '../../shared/settings.ts';
import { createDomainStore } from '../store/domain-store.ts';

/** Domains of the configuration (MAIL_DOMAINS), in lower case. */
export const listConfiguredDomains = (env: Env): readonly string[] => settingsOf(env).MAIL_DOMAINS;

/**
 * Finds the main domain of a hosted domain: the domain that it is an alias of, or the domain itself. The addresses of the main
 * domain receive its mail.
 * @returns null if the domain is not hosted: neither configured nor added by the operator.
 */
export async function findMainDomain(env: Env, domain: string): Promise<string | null> {
  const name = domain.toLowerCase();
  if (listConfiguredDomains(env).includes(name)) return name;
  const row = await createDomainStore(env.DIRECTORY).findDomain(name);
  return row?.isHosted ? (row.aliasOf ?? name) : null;
}

export const isHostedDomain = async (env: Env, domain: string): Promise<boolean> =>
  (await findMainDomain(env, domain)) !== null;

/** Whether addresses may be created in a domain. An alias has no addresses of its own; it shares those of its main domain. */
export const mayHaveAddresses = async (env: Env, domain: string): Promise<boolean> =>
  (await findMainDomain(env, domain)) === domain.toLowerCase();
