/**
 * Tests Ansible's modules for S3, if Ansible with the collections amazon.aws and community.aws is installed (Debian: `ansible`).
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startServer } from '../../support/server.ts';
import { run } from '../../support/storage/s3-client.ts';

const PLAYBOOK = join(import.meta.dirname, '../../support/storage/ansible.yml');
const isInstalled = spawnSync('which', ['ansible-playbook']).status === 0;

it.skipIf(!isInstalled)('a playbook sets up a bucket, works with objects and deletes all of it', async () => {
  await using server = await startServer();
  const key = await server.createAccessKey(`ansible-${randomUUID()}`);
  const home = mkdtempSync(join(tmpdir(), 'tessera-client-'));
  writeFileSync(join(home, 'hello.txt'), 'hello');
  const { code, stdout, stderr } = await run('ansible-playbook', ['-i', 'localhost,', PLAYBOOK], {
    ...(process.env as Record<string, string>),
    HOME: home,
    ANSIBLE_PYTHON_INTERPRETER: '/usr/bin/python3',
    ANSIBLE_LOCAL_TEMP: join(home, 'tmp'),
    LC_ALL: 'C.UTF-8',
    WORK_FOLDER: home,
    BUCKET: `ansible-${randomUUID()}`,
    S3_URL: server.url,
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
  });
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});
