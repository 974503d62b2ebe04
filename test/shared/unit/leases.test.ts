/**
 * Lists every lease of the product, with the test in which its worker is late: its lease ends, a second worker does the work, then the
 * first one goes on. A new lease needs a line here, and a situation of `test/support/two-workers.ts` or a work of the background ring.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Lease {
  readonly lease: string;
  /** Functions that take the lease, and constants and settings of its time, as `findLeases` names them. */
  readonly code: readonly string[];
  /** The file of the test, and a text that is only in the test of this lease. */
  readonly test: readonly [file: string, text: string];
}

const RING = 'test/storage/objects/background-ring.ts';
const mail = (text: string) => ['test/mail/objects/two-workers.test.ts', text] as const;
const shared = (text: string) => ['test/shared/objects/two-workers.test.ts', text] as const;

const LEASES: readonly Lease[] = [
  { lease: 'packing', code: ['withLease maintain', 'schedule.ts LEASE_MS'], test: [RING, 'packing: {'] },
  { lease: 'collection', code: ['withLease maintain'], test: [RING, "'reclamation and compaction': {"] },
  { lease: 'journal', code: ['withLease maintain', 'doubt.ts LEASE_MS'], test: [RING, "'a journal': {"] },
  { lease: 'scrub', code: ['withLease scrub'], test: [RING, "'the repair of copies': {"] },
  { lease: 'missing copies', code: ['withLease copies'], test: [RING, "'missing copies': {"] },
  { lease: 'lifecycle rules', code: ['withLease lifecycle'], test: [RING, "'lifecycle rules': {"] },
  { lease: 'snapshot of a shard', code: ['withLease snapshot'], test: [RING, "'a snapshot': {"] },
  { lease: 'rebuild of a shard', code: ['withLease rebuild', 'rebuild.ts LEASE_MS'], test: [RING, "'a rebuild': {"] },
  { lease: 'move of a slot', code: ['claimMove'], test: [RING, "'the move of a slot': {"] },
  {
    lease: 'job over a bucket',
    code: ['takeJob', 'job-store.ts JOB_LEASE_MS'],
    test: [RING, "'a job that deletes': {"],
  },
  {
    lease: 'events of a shard',
    code: ['withLease events', 'schedule.ts EVENTS_LEASE_MS'],
    test: ['test/storage/objects/two-workers.test.ts', 'a late worker begins no further one'],
  },
  {
    lease: 'shares of a quota',
    code: ['takeLease', 'quota-limit-store.ts LEASE_MS'],
    test: ['test/storage/objects/quotas.test.ts', 'two workers that distribute the same rest'],
  },
  {
    lease: 'snapshot and rebuild of DIRECTORY',
    code: ['runDirectoryStep snapshot', 'runDirectoryStep rebuild', 'directory-task-store.ts LEASE_MS'],
    test: ['test/storage/objects/directory-steps.test.ts', 'a worker that comes late neither continues a snapshot'],
  },
  {
    lease: 'outgoing mail',
    code: ['claimOutbox', 'MAIL_LEASE_SECONDS'],
    test: mail('a message is sent once, unless'),
  },
  {
    lease: 'incoming mail',
    code: ['claimIncoming', 'MAIL_LEASE_SECONDS'],
    test: mail('an incoming message is stored once'),
  },
  {
    lease: 'pushes to devices',
    code: ['claimPushes', 'send-push.ts PUSH_LEASE_MS'],
    test: mail('a state is pushed once to each device'),
  },
  {
    lease: 'connection of an IMAP pull',
    code: ['claimPull', 'pull-store.ts LEASE_MS'],
    test: ['test/mail/objects/pulls.test.ts', 'The first connection was only slow.'],
  },
  {
    lease: 'check of a sign-in',
    code: ['lease', 'recheck.ts CHECK_LEASE_MS'],
    test: ['test/identity/objects/two-workers.test.ts', 'a late check of a sign-in'],
  },
  { lease: 'notice of a season', code: ['claimNotice'], test: shared('a notice of an ended season') },
  { lease: 'pass over the S3 location', code: ['pass.ts LEASE_MS'], test: shared('two passes leave the S3 location') },
  {
    lease: 'verdict of health',
    code: ['claimVerdict', 'health-verdict.ts JUDGE_LEASE_MS'],
    test: ['test/shared/objects/health-verdict.test.ts', 'the later one of two that judge at once'],
  },
];

/** Functions that claim something for good, so that no time ends the claim. */
const PERMANENT = ['claimNamespace', 'claimShard', 'claimRebuilt', 'claimLocations'];

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const FORMS: readonly [RegExp, (file: string, name: string) => string][] = [
  [/\bconst (\w*LEASE_MS) =/g, (file, name) => `${file} ${name}`],
  [/\b(\w+_LEASE_SECONDS): number\(/g, (_, name) => name],
  [/\bwithLease\([^,()]+, [^,]+, '([^']+)'/g, (_, name) => `withLease ${name}`],
  [/\brunDirectoryStep<\w+>\(\w+, '([^']+)'/g, (_, name) => `runDirectoryStep ${name}`],
  [/\b(?:function|async|const) (claim[A-Z]\w*|lease|take(?:Lease|Job))(?:\(| = async)/g, (_, name) => name],
];

/** Finds what takes a lease, and what says how long one lasts, in the text of a file. */
function findLeases(path: string, text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const file = path.split('/').at(-1) ?? '';
  return FORMS.flatMap(([form, toName]) => [...code.matchAll(form)].map(([, name = '']) => toName(file, name)));
}

it('every lease of the code has a test with a late worker, and the list has no other', () => {
  const files = globSync('{workers,durable-objects}/**/*.ts', { cwd: ROOT });
  const found = new Set(files.flatMap((file) => findLeases(file, read(file))));
  const listed = new Set([...LEASES.flatMap(({ code }) => code), ...PERMANENT]);
  expect([...found].sort()).toEqual([...listed].sort());
  for (const { lease, test } of LEASES) {
    const [file, text] = test;
    expect(read(file).split(text).length, `${lease}: ${text}`).toBe(2);
  }
});

it('a lease is found by its function, its time or its name', () => {
  const text = `const LEASE_MS = 1; await withLease(context, task.shard, 'new work', LEASE_MS, work);
    export async function claimNews(sql: SqlStorage) {} // claimed`;
  expect(findLeases('workers/new.ts', text)).toEqual(['new.ts LEASE_MS', 'withLease new work', 'claimNews']);
});
