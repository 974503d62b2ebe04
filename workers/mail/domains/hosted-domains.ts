/** The domains that this service hosts. */
import { settingsOf } from '../../shared/settings.ts';
import { createDomainStore } from '../store/domain-store.ts';

/** Configured domains, in lower case. */
export const listConfiguredDomains = (env: Env): readonly string[] => settingsOf(env).MAIL_DOMAINS;

/** Whether a domain is configured or was added by the operator. */
export async function isHostedDomain(env: Env, domain: string): Promise<boolean> {
  const name = domain.toLowerCase();
  if (listConfiguredDomains(env).includes(name)) return true;
  return (await createDomainStore(env.DIRECTORY).findDomain(name))?.isHosted ?? false;
}
