/**
 * Secrets of mail that are sealed with MASTER_KEY: DKIM keys, and transports with a password. They are sealed again when MASTER_KEY
 * is rotated.
 */
import type { SecretKeeper } from '../../identity/index.ts';
import { createDomainStore } from '../store/domain-store.ts';
import { SEALED_PREFIX, TRANSPORT_CONTEXT } from './transport-secret.ts';

/** Additional authenticated data for sealing a DKIM key. */
export const dkimKeyContext = (domain: string, selector: string): string => `dkim:${domain}:${selector}`;

export const dkimSecrets: SecretKeeper = {
  name: 'dkim_keys',
  async list(env, after, limit) {
    const [domain = '', selector = ''] = after.split('/');
    const rows = await createDomainStore(env.DIRECTORY).listAllDkimKeys(domain, selector, limit);
    return rows.map((row) => ({
      key: `${row.domain}/${row.selector}`,
      context: dkimKeyContext(row.domain, row.selector),
      sealed: row.privateKeySealed,
    }));
  },
  async replace(env, key, before, after) {
    const [domain = '', selector = ''] = key.split('/');
    await createDomainStore(env.DIRECTORY).replaceSealedKey(domain, selector, before, after);
  },
};

export const transportSecrets: SecretKeeper = {
  name: 'mail_transports',
  async list(env, after, limit) {
    const rows = await createDomainStore(env.DIRECTORY).listSealedTransports(SEALED_PREFIX, after, limit);
    return rows.map(({ domain, transport }) => ({
      key: domain,
      context: TRANSPORT_CONTEXT,
      sealed: transport.slice(SEALED_PREFIX.length),
    }));
  },
  async replace(env, domain, before, after) {
    const store = createDomainStore(env.DIRECTORY);
    await store.replaceTransport(domain, SEALED_PREFIX + before, SEALED_PREFIX + after);
  },
};
