/** Which domains this service hosts. */
import { createDomainStore } from './domains/domain-store.ts';

/** Those of the configuration, lower-cased. */
export const listConfiguredDomains = (env: Env): string[] =>
  env.MAIL_DOMAINS.split(',')
    .map((domain) => domain.trim().toLowerCase())
    .filter((domain) => domain !== '');

/** Of the configuration, or added by the operator. */
export async function isHostedDomain(env: Env, domain: string): Promise<boolean> {
  const name = domain.toLowerCase();
  if (listConfiguredDomains(env).includes(name)) return true;
  return (await createDomainStore(env.DIRECTORY).findDomain(name))?.isHosted ?? false;
}
