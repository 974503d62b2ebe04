/**
 * Compares Drizzle's query builder in a Durable Object with `workers/shared/stores/statement.ts`. The figures are in docs/decisions.md.
 * The test asserts equal results and prints times without asserting them.
 */
import { env, runInDurableObject } from 'cloudflare:test';
import { and, desc, eq, getTableColumns, gt, lt, or } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/durable-sqlite';
import { expect, it } from 'vitest';
import { contact } from '../../../durable-objects/mail/rules/schema.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';

const CONTACTS = 500;
const ROUNDS = 10;
type Row = RowOf<typeof contact>;
type Select = typeof contact.$inferSelect;

const COLUMNS = 'email, contact_id, name, note, is_saved, sent_count, last_sent_at, created_at';
const find = statement<{ email: string }, Row>(`SELECT ${COLUMNS} FROM contact WHERE email = :email`);
const list = statement<{ sentCount: number; email: string }, Row>(
  `SELECT ${COLUMNS} FROM contact WHERE sent_count < :sentCount OR (sent_count = :sentCount AND email > :email)
   ORDER BY sent_count DESC, email LIMIT 50`,
);
const save = statement<{ email: string; contactId: string; name: string }>(
  `INSERT INTO contact (email, contact_id, name, is_saved, created_at) VALUES (:email, :contactId, :name, 1, 0)
   ON CONFLICT (email) DO UPDATE SET name = :name`,
);
const toSelect = (row: Row): Select => ({
  email: row.email,
  contactId: row.contact_id,
  name: row.name,
  note: row.note,
  isSaved: row.is_saved,
  sentCount: row.sent_count,
  lastSentAt: row.last_sent_at,
  createdAt: row.created_at,
});

function compareWays(storage: DurableObjectStorage): string[] {
  const { sql } = storage;
  const database = drizzle(storage);
  const place = { sentCount: 0, email: 'p100@example.test' };
  const written = { email: 'p7@example.test', contactId: 'c7', name: 'Seven' };
  const ways = {
    'one row': {
      runs: 1_000,
      statement: () => [...execute(sql, find, { email: 'p7@example.test' })].map(toSelect),
      builder: () =>
        database.select(getTableColumns(contact)).from(contact).where(eq(contact.email, 'p7@example.test')).all(),
    },
    'page of 50 rows': {
      runs: 100,
      statement: () => [...execute(sql, list, place)].map(toSelect),
      builder: () =>
        database
          .select(getTableColumns(contact))
          .from(contact)
          .where(
            or(
              lt(contact.sentCount, place.sentCount),
              and(eq(contact.sentCount, place.sentCount), gt(contact.email, place.email)),
            ),
          )
          .orderBy(desc(contact.sentCount), contact.email)
          .limit(50)
          .all(),
    },
    upsert: {
      runs: 1_000,
      statement: () => execute(sql, save, written).toArray(),
      builder: () => {
        database
          .insert(contact)
          .values({ ...written, isSaved: 1, createdAt: 0 })
          .onConflictDoUpdate({ target: contact.email, set: { name: written.name } })
          .run();
        return [];
      },
    },
  };
  for (let n = 0; n < CONTACTS; n++)
    execute(sql, save, { email: `p${n}@example.test`, contactId: `c${n}`, name: `P${n}` });
  return Object.entries(ways).map(([name, { runs, statement, builder }]) => {
    expect(builder()).toEqual(statement());
    const measure = (work: () => unknown): number => {
      const started = performance.now();
      storage.transactionSync(() => {
        for (let run = 0; run < runs; run++) work();
      });
      return ((performance.now() - started) * 1_000) / runs;
    };
    const best = { statement: Number.POSITIVE_INFINITY, builder: Number.POSITIVE_INFINITY };
    for (let round = 0; round < ROUNDS; round++) {
      best.statement = Math.min(best.statement, measure(statement));
      best.builder = Math.min(best.builder, measure(builder));
    }
    return `${name}: statement ${best.statement.toFixed(0)} µs, query builder ${best.builder.toFixed(0)} µs`;
  });
}

it('gives the same rows by a statement and by the query builder', async () => {
  const userId = crypto.randomUUID();
  const created = openMailbox(env, userId);
  await created.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const object = env.MAILBOX.get(env.MAILBOX.idFromName(userId));
  const times = await runInDurableObject(object, (_, state) => compareWays(state.storage));
  console.log(times.join('\n'));
});
