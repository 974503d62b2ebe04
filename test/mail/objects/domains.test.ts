import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import {
  createDkimKeys,
  type DomainChange,
  deleteDomain,
  findDomain,
  listDnsRecords,
  saveDomain as save,
} from '../../../workers/mail/domains/domains.ts';
import { createSigner } from '../../../workers/mail/outbound/sign-outgoing.ts';
import { createDomainStore } from '../../../workers/mail/store/domain-store.ts';
import type { AuditRow } from '../../../workers/shared/audit/audit-store.ts';

/** A placeholder for the audit log, which these tests are not about. */
const toAudit = (domain: string): AuditRow => ({
  ...{ at: Date.now(), entryId: crypto.randomUUID(), actorKind: 'root', actorId: 'root', action: 'domain.create' },
  ...{ targetType: 'domain', targetId: domain, network: null, userAgentDigest: null, requestId: 'x', details: {} },
});
const saveDomain = (name: string, change: DomainChange) => save(env, name, change, toAudit);
const newName = () => `${crypto.randomUUID()}.test`;
const listKeys = (domain: string) => createDomainStore(env.DIRECTORY).listDkimKeys(domain);
async function listDkimRecords(domain: string) {
  const row = await findDomain(env, domain);
  if (!row) throw new Error('no such domain');
  return (await listDnsRecords(env, row)).filter((record) => record.purpose.startsWith('DKIM'));
}

describe('a hosted domain has DKIM keys', () => {
  it('as soon as it is created, and its DNS records list them', async () => {
    const domain = newName();
    expect((await saveDomain(domain, {})).ok).toBe(true);
    expect((await listKeys(domain)).map((key) => key.algorithm).sort()).toEqual(['ed25519-sha256', 'rsa-sha256']);
    const records = await listDkimRecords(domain);
    expect(records.map((record) => record.value?.slice(0, 11))).toEqual(['v=DKIM1; k=', 'v=DKIM1; k=']);
    expect(new Set(records.map((record) => record.name.endsWith(`._domainkey.${domain}`)))).toEqual(new Set([true]));
  });

  it('that its operator creates if the configuration hosts it; reading creates none', async () => {
    expect(await listDkimRecords('example.test')).toEqual([]);
    expect(await listKeys('example.test')).toEqual([]);
    await createDkimKeys(env, 'example.test', toAudit);
    expect(await listDkimRecords('example.test')).toHaveLength(2);
  });

  it('once, even if many requests create it at the same time', async () => {
    const domain = newName();
    await Promise.all(Array.from({ length: 6 }, () => saveDomain(domain, {})));
    expect(await listKeys(domain)).toHaveLength(2);
  });

  it('that later changes keep', async () => {
    const domain = newName();
    await saveDomain(domain, {});
    const before = await listKeys(domain);
    for (const change of [{ is_held: true }, { transport: null }, { catch_all: null }, {}])
      expect((await saveDomain(domain, change)).ok).toBe(true);
    expect(await listKeys(domain)).toEqual(before);
  });

  it('in A-labels for a name in another script', async () => {
    const label = crypto.randomUUID().slice(0, 8);
    await saveDomain(`Bücher-${label}.test`, {});
    const row = await findDomain(env, `bücher-${label}.test`);
    expect(await listKeys(row?.domain ?? '')).toHaveLength(2);
  });

  it('and two more after a rotation', async () => {
    const domain = newName();
    await saveDomain(domain, {});
    await createDkimKeys(env, domain, toAudit);
    expect(await listDkimRecords(domain)).toHaveLength(4);
  });

  it('again if it was deleted and created again, with other selectors', async () => {
    const domain = newName();
    await saveDomain(domain, {});
    const before = await listKeys(domain);
    await deleteDomain(env, domain, toAudit);
    expect(await listKeys(domain)).toEqual([]);
    await saveDomain(domain, {});
    const after = await listKeys(domain);
    expect(after).toHaveLength(2);
    expect(after.some((key) => before.some(({ publicKey }) => publicKey === key.publicKey))).toBe(false);
  });

  it('that sign its mail at once', async () => {
    const domain = newName();
    await saveDomain(domain, {});
    const rawKey = `mail/x/${crypto.randomUUID()}`;
    const raw = `From: ann@${domain}\r\nSubject: x\r\n\r\nx\r\n`;
    await env.BLOBS.put(rawKey, raw);
    const job = { rawKey, bodyHash: 'aGFzaA==', sizeBytes: raw.length, envelopeFrom: `ann@${domain}` };
    const signed = await createSigner(env).sign(job as Parameters<ReturnType<typeof createSigner>['sign']>[0]);
    const bytes = await new Response(await signed?.openBody()).text();
    expect(bytes.match(/^DKIM-Signature:/gm)).toHaveLength(2);
  });
});

describe('no keys are created', () => {
  it.each([
    ['a route that is not hosted', newName(), { is_hosted: false }],
    ['an invalid transport', newName(), { transport: 'gopher://x' }],
    ['an unknown catch-all', newName(), { catch_all: 'nobody@example.test' }],
  ])('for %s', async (_, domain, change) => {
    await saveDomain(domain, change);
    expect(await listKeys(domain)).toEqual([]);
  });

  it.each(['', 'x', '.test', 'a..test', 'a b.test', '127.0.0.1', `${'x'.repeat(64)}.test`])(
    'for the name %j',
    async (name) => {
      expect((await saveDomain(name, {})).ok).toBe(false);
      expect(await listKeys(name)).toEqual([]);
    },
  );

  it('until a route becomes hosted', async () => {
    const domain = newName();
    await saveDomain(domain, { is_hosted: false });
    await saveDomain(domain, { is_hosted: true });
    expect(await listKeys(domain)).toHaveLength(2);
  });
});
