/**
 * Faults made by hand in code that holds data or decides access: a guard dropped, two durable steps swapped, silence taken for an
 * answer. `npm run test:mutants -- --seeded` makes each in a copy of the tree and runs the tests that must fail.
 *
 * Left out: a report about mail of the null sender (T12) leaves in no case, because nothing is queued for an empty address.
 *
 * A fault names the text that it replaces, not its place, so that it survives moves. It must match once in the product's code.
 */

export interface SeededFault {
  readonly id: string;
  /** Text of the product's code, and what replaces it. */
  readonly from: string;
  readonly to: string;
  /** What a person would lose. */
  readonly harm: string;
  /** Test files of which at least one must fail. */
  readonly tests: readonly string[];
}

const storage = (...names: string[]) => names.map((name) => `test/storage/objects/${name}.test.ts`);
const mail = (...names: string[]) => names.map((name) => `test/mail/objects/${name}.test.ts`);
const board = (...names: string[]) => names.map((name) => `test/leaderboard/objects/${name}.test.ts`);

export const SEEDED_FAULTS: readonly SeededFault[] = [
  {
    id: 'O01',
    from: 'return found.ok && found.value ? ok(facts)',
    to: 'return !found.ok || found.value ? ok(facts)',
    harm: 'acknowledges a write that may not exist',
    tests: storage('guards'),
  },
  {
    id: 'O05',
    from: 'UPDATE SET since = excluded.since`,\n      Math.trunc(nowMs),',
    to: 'NOTHING`,\n      Math.trunc(nowMs),',
    harm: 'no grace period for bytes that are still read',
    tests: storage('guards'),
  },
  {
    id: 'O10',
    from: 'both(removedSql(',
    to: '...((_: string) => [])(removedSql(',
    harm: 'a rebuild shows an object that was overwritten long ago',
    tests: storage('background-faults', 'journal'),
  },
  {
    id: 'O11',
    from: ' AND (newest IS NULL OR newest > d.ord)`',
    to: '`',
    harm: 'a slow clock commits below a removed version',
    tests: storage('guards'),
  },
  {
    id: 'O16',
    from: 'if (row.value.lease !== lease) return ok(false);',
    to: '',
    harm: 'two distributors of a quota hand out the same rest',
    tests: storage('quotas'),
  },
  {
    id: 'O20',
    from: 'const isInDoubt = shared.length > 0 && (await findStorageDoubt(context)) !== null;',
    to: 'const isInDoubt = false;',
    harm: 'deletes bytes of a shard with an older database',
    tests: storage('guards'),
  },
  {
    id: 'O21',
    from: "if (state === 'unreachable') held |= blob.locations & (1 << location);",
    to: "if (state === 'unreachable') held |= 1 << location;",
    harm: 'a missing copy is forgotten, because silence counts as having it',
    tests: storage('guards', 'scrub'),
  },
  {
    id: 'O24',
    from: 'rebuild.startedAt - COMMIT_MARGIN_MS',
    to: 'rebuild.startedAt',
    harm: 'uploads that were under way at the snapshot are not recovered',
    tests: storage('broken-sources', 'rebuild'),
  },
  {
    id: 'O26',
    from: '(head?.etag === object.etag ? bits',
    to: '(head ? bits',
    harm: 'a damaged copy counts as good until the next scrub',
    tests: storage('broken-sources', 'rebuild'),
  },
  {
    id: 'O27',
    from: 'if (!isWhole) return;\n  let hashes',
    to: 'let hashes',
    harm: 'an object with a hole comes back as whole',
    tests: storage('broken-sources', 'rebuild'),
  },
  {
    id: 'O28',
    from: 'before.noncurrent + (isKept ? 1 : 0)',
    to: 'before.noncurrent + 1',
    harm: 'with two rules, deletes versions that one of them keeps',
    tests: storage('lifecycle', 'guards'),
  },
  {
    id: 'O29',
    from: 'const tags = hasTags && row.tags !== null ? { tags: row.tags } : {};',
    to: 'const tags = {};',
    harm: 'deletes an object that was tagged anew meanwhile',
    tests: storage('lifecycle', 'guards'),
  },
  {
    id: 'O30',
    from: 'await writePage(changes);\n      await removeChanges(context, shard, changes);',
    to: 'await removeChanges(context, shard, changes);\n      await writePage(changes);',
    harm: 'a crash between the two loses deletes from the journal',
    tests: storage('background-faults', 'journal'),
  },
  {
    id: 'O34',
    from: "\n  AND (SELECT substr(b.slots, slot + 1, 1) = 'o' FROM bucket b WHERE b.n = :bucket)`;",
    to: '`;',
    harm: 'an upload and its quota differ between two shards',
    tests: storage('guards', 'slots'),
  },
  {
    id: 'C01',
    from: 'lt(orphan.foundRound, round), lte',
    to: 'lte',
    harm: 'deletes after one look',
    tests: ['test/shared/objects/collectors.test.ts'],
  },
  {
    id: 'C02',
    from: "if (outcome === 'failed') continue;",
    to: '',
    harm: 'the second copy is never made',
    tests: ['test/shared/objects/collectors.test.ts'],
  },
  {
    id: 'C03',
    from: 'if ((await source.head(key)) === null) await lacking.delete(key);',
    to: '',
    harm: 'a deleted message returns in one location',
    tests: ['test/shared/objects/collectors.test.ts'],
  },
  {
    id: 'C04',
    from: "customMetadata, onlyIf: { etagDoesNotMatch: '*' }, ...expected",
    to: 'customMetadata, ...expected',
    harm: 'an older snapshot of a mailbox replaces a newer one',
    tests: ['test/shared/objects/collectors.test.ts'],
  },
  {
    id: 'L10',
    from: "this.ctx.abort('the board could not be changed');",
    to: '',
    harm: 'half a batch stays in memory and is committed later',
    tests: board('guards'),
  },
  {
    id: 'L13',
    from: 'if (!(await isArchived(env, archived, now))) return;\n  const ends',
    to: 'const ends',
    harm: 'a month without its archive is erased',
    tests: board('closing-sources', 'season-erasure'),
  },
  {
    id: 'L14',
    from: 'if (missing.some((shard) => !allowed.includes(shard))) return { ...end, finalAt: null };',
    to: '',
    harm: 'a season is final without a shard that is only late',
    tests: board('past-seasons'),
  },
  {
    id: 'L17',
    from: 'await shard.pull;',
    to: '',
    harm: 'an erased player stays in the snapshot of counts',
    tests: board('guards'),
  },
  {
    id: 'L21',
    from: 'if (missing <= (players > 0 ? allowedLoss(seen) : 0)) {',
    to: 'if (missing <= allowedLoss(seen)) {',
    harm: 'a small board whose objects were lost ends empty',
    tests: board('closing-sources', 'season-erasure'),
  },
  {
    id: 'L22',
    from: 'if (read.players !== expected.players || read.digest !== expected.digest)',
    to: 'if (read.players !== expected.players)',
    harm: 'a season moves into its shards with another score than its list has',
    tests: board('archive-import'),
  },
  {
    id: 'L23',
    from: 'if (!(await hasCopies(env, { season, shards }))) return await seasons.setDue(season, now + TRY_AGAIN_MS);',
    to: '',
    harm: 'the archive of a season is removed while a location lacks its copy',
    tests: board('archive-import'),
  },
  {
    id: 'L24',
    from: 'if (known.value.revision !== revision || !(await writeTo(first, key, next, known.etag))) return false;',
    to: 'await writeTo(first, key, next);',
    harm: 'a correction of an archive is lost when the season moves into its shards',
    tests: board('archive-import'),
  },
  {
    id: 'M01',
    from: '(each.lease?.id === leaseId ? change',
    to: '(each.lease !== null ? change',
    harm: 'a late worker overwrites the result of the present one, and mail is sent twice',
    tests: mail('leases'),
  },
  {
    id: 'M04',
    from: 'const isOver = nextAttemptAt === null && recipients.every(({ report }) => report === null);',
    to: 'const isOver = nextAttemptAt === null;',
    harm: 'bytes become garbage before the report quotes them',
    tests: mail('leases', 'reports'),
  },
  {
    id: 'M06',
    from: "sql.exec(`UPDATE message_content SET attachments = '[]' WHERE position = ?`, message.position);",
    to: '',
    harm: 'undo send deletes the files of the new draft',
    tests: mail('edges', 'background-ring'),
  },
  {
    id: 'M08',
    from: 'CASE WHEN :folder = folder AND is_visible',
    to: 'CASE WHEN is_visible',
    harm: 'mail in Trash is erased early',
    tests: mail('edges'),
  },
  {
    id: 'M21',
    from: 'markSnapshot(sql, state);',
    to: 'markSnapshot(sql, readState(sql));',
    harm: 'changes made while a snapshot is written are missing after a rebuild',
    tests: mail('wakes'),
  },
  {
    id: 'M22',
    from: 'publish_at = CASE version WHEN ?2 THEN NULL ELSE publish_at END',
    to: 'publish_at = NULL',
    harm: 'the error queue of the operator stays out of date',
    tests: mail('leases', 'reports'),
  },
  {
    id: 'M25',
    from: ' AND guesses <= 10 RETURNING',
    to: ' RETURNING',
    harm: 'mail is forwarded to an address that did not agree',
    tests: mail('edges'),
  },
  {
    id: 'M26',
    from: 'shares[domain]?.hour === hour ? shares[domain].recipients : 0',
    to: 'shares[domain]?.recipients ?? 0',
    harm: 'the limit of a domain is exceeded',
    tests: mail('edges', 'domains'),
  },
  {
    id: 'T01',
    from: "logError('incoming_insert_failed', error);",
    to: "logError('incoming_insert_failed', error);\n    await removeRaw();",
    harm: 'a message is accepted without its bytes',
    tests: mail('receiving-faults', 'background-ring'),
  },
  {
    id: 'T03',
    from: 'for (const target of targets.toReversed())',
    to: 'for (const target of targets)',
    harm: 'one full or repeated recipient keeps the message from all others',
    tests: mail('receiving-faults'),
  },
  {
    id: 'T07',
    from: 'if (Date.now() > round.endsAt) return;',
    to: '',
    harm: 'a message is sent twice',
    tests: mail('two-workers'),
  },
  {
    id: 'T08',
    from: "verdicts: job.kind === 'forward' ? null : job.verdicts }",
    to: 'verdicts: job.verdicts }',
    harm: 'forged mail counts as authenticated',
    tests: mail('edges'),
  },
  {
    id: 'T13',
    from: "if (report.envelopeFrom !== '') await sendReport(env, report);\n    await mailbox.finishReport(report);",
    to: "await mailbox.finishReport(report);\n    if (report.envelopeFrom !== '') await sendReport(env, report);",
    harm: 'a crash loses the report',
    tests: mail('leases', 'reports', 'background-ring'),
  },
  {
    id: 'T14',
    from: "result === 'pass' && aligned) === true;",
    to: "result === 'pass') === true;",
    harm: 'we sign forged mail in the name of our domain',
    tests: mail('edges'),
  },
  {
    id: 'T17',
    from: 'if (failure !== undefined) throw failure;\n  return null;\n}\n\nconst READ_BYTES',
    to: 'return null;\n}\n\nconst READ_BYTES',
    harm: 'mail that is there is refused as missing',
    tests: mail('receiving-faults', 'quorum'),
  },
  {
    id: 'T20',
    from: "if (!opened) return err('the raw message is missing in every location');",
    to: "if (!opened) return ok({ outcome: 'refused' } as never);",
    harm: 'accepted mail is given up instead of waiting',
    tests: mail('receiving-faults'),
  },
  {
    id: 'P01',
    from: 'if (Date.now() + TIMEOUT_MS > endsAt) break;',
    to: '',
    harm: 'a device gets the same push from two workers',
    tests: mail('two-workers'),
  },
  {
    id: 'P02',
    from: 'if (!isLate) memory.pushedUntil = 0;',
    to: 'memory.pushedUntil = 0;',
    harm: 'a late worker ends the lease of another one',
    tests: mail('two-workers'),
  },
  {
    id: 'P03',
    from: 'pushed_state = max(pushed_state, ifnull(:state, 0))',
    to: 'pushed_state = ifnull(:state, pushed_state)',
    harm: 'a late result makes a device get an old push again',
    tests: mail('two-workers'),
  },
  {
    id: 'D01',
    from: 'WHERE name = :name AND lease_until = :until',
    to: 'WHERE name = :name AND :until > 0',
    harm: 'a late worker takes the snapshot of DIRECTORY back to its own step',
    tests: storage('directory-steps'),
  },
  {
    id: 'I03',
    from: "known?.scopes.includes('admin') ? await findInPrimary(database, find) : known;",
    to: 'known;',
    harm: 'a revoked admin token still works for a while',
    tests: ['test/identity/objects/replicas.test.ts'],
  },
  {
    id: 'I09',
    from: 'and(eq(secondFactor.userId, row.userId), eq(secondFactor.recoverySha256, row.recoverySha256))',
    to: 'eq(secondFactor.userId, row.userId)',
    harm: 'one recovery code opens two sessions at once',
    tests: ['test/identity/objects/credential-edges.test.ts'],
  },
  {
    id: 'W02',
    from: 'if (isSignedOut || hasToWait(error)) {',
    to: 'if (hasToWait(error)) {',
    harm: 'changes are lost when the session has ended',
    tests: ['test/mail/browser/unsaved.test.ts'],
  },
  {
    id: 'W03',
    from: 'while (owner === userId) {',
    to: 'for (;;) {',
    harm: "one user's changes are sent as another",
    tests: ['test/mail/browser/unsaved.test.ts'],
  },
  {
    id: 'W05',
    from: 'const saved = saving.then(async () => {',
    to: 'const saved = Promise.resolve().then(async () => {',
    harm: 'two drafts, or a save over a newer one',
    tests: ['test/mail/browser/unsaved.test.ts'],
  },
  {
    id: 'W06',
    from: "if (result !== 'failed') forgetWriting(writing.key);",
    to: 'forgetWriting(writing.key);',
    harm: 'text is lost',
    tests: ['test/mail/browser/unsaved.test.ts'],
  },
];
