/** Which domains this service hosts. */
import { settingsOf } from '../shared/settings.ts';
import { createDomainStore } from './domains/domain-store.ts';

/** Those of the configuration, in lower case. */
export const listConfiguredDomains = (env: Env): readonly string[] => settingsOf(env).MAIL_DOMAINS;

/** Of the configuration, or added by the operator. */
export async function isHostedDomain(env: Env, domain: string): Promise<boolean> {
  const name = domain.toLowerCase();
  if (listConfiguredDomains(env).includes(name)) return true;
  return (await createDomainStore(env.DIRECTORY).findDomain(name))?.isHosted ?? false;
}
