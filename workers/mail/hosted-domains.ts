/** Which domains this service hosts. */

/** Those of the configuration, lower-cased. */
export const listConfiguredDomains = (env: Env): string[] =>
  env.MAIL_DOMAINS.split(',')
    .map((domain) => domain.trim().toLowerCase())
    .filter((domain) => domain !== '');

export async function isHostedDomain(env: Env, domain: string): Promise<boolean> {
  return listConfiguredDomains(env).includes(domain.toLowerCase());
}
