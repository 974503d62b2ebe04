/** Mail's sealed secrets, for when MASTER_KEY is rotated: DKIM keys. */
import type { SecretKeeper } from '../../identity/index.ts';
import { dkimKeyContext } from '../outbound/sign-outgoing.ts';
import { createDomainStore } from './domain-store.ts';

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
