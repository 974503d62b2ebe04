/** Queries of sign-ins with the account of a provider. */
import { and, asc, eq, isNotNull, isNull, lt, lte, ne, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { prepare, statement } from '../../shared/stores/statement.ts';
import { raiseGeneration } from './revocation-store.ts';
import { user } from './schema.ts';
import { providerSession, signIn } from './sign-in-schema.ts';

export type SignInRow = typeof signIn.$inferSelect;
type SignInKey = Pick<SignInRow, 'issuer' | 'subject' | 'kind'>;
/** Marks a suspension that a check of the provider made, and that the next sign-in lifts. */
const BY_PROVIDER = 'provider';

const columns = {
  issuer: signIn.issuer,
  subject: signIn.subject,
  kind: signIn.kind,
  ownerId: signIn.ownerId,
  createdAt: signIn.createdAt,
  lastUsedAt: signIn.lastUsedAt,
  refreshSealed: signIn.refreshSealed,
  checkAt: signIn.checkAt,
  confirmedAt: signIn.confirmedAt,
};

const isRow = ({ issuer, subject, kind }: SignInKey) =>
  and(eq(signIn.issuer, issuer), eq(signIn.subject, subject), eq(signIn.kind, kind));

export function createSignInStore(database: D1Database) {
  const db = drizzle(database);
  return {
    async find(key: SignInKey): Promise<SignInRow | null> {
      return (await db.select(columns).from(signIn).where(isRow(key)).get()) ?? null;
    },

    async listOf(kind: SignInRow['kind'], ownerId: string): Promise<SignInRow[]> {
      const isOwn = and(eq(signIn.kind, kind), eq(signIn.ownerId, ownerId));
      return db.select(columns).from(signIn).where(isOwn).orderBy(asc(signIn.createdAt));
    },

    /** Lists all rows of an account of a provider: as a user and as an operator. */
    async listOfSubject(issuer: string, subject: string): Promise<SignInRow[]> {
      return db
        .select(columns)
        .from(signIn)
        .where(and(eq(signIn.issuer, issuer), eq(signIn.subject, subject)));
    },

    /** Binds an account of a provider. @returns false if it is bound, or if the owner has another one of this issuer. */
    async bind(row: SignInRow, audit: AuditRow | null): Promise<boolean> {
      const insert = db.insert(signIn).values(row).onConflictDoNothing();
      const [bound] = await db.batch([insert, ...(audit === null ? [] : [insertIfChanged(db, audit)])]);
      return bound.meta.changes > 0;
    },

    async unbind(key: SignInKey & { readonly ownerId: string }, audit: AuditRow | null): Promise<boolean> {
      const gone = db.delete(signIn).where(and(isRow(key), eq(signIn.ownerId, key.ownerId)));
      const [unbound] = await db.batch([gone, ...(audit === null ? [] : [insertIfChanged(db, audit)])]);
      return unbound.meta.changes > 0;
    },

    async deleteOf(kind: SignInRow['kind'], ownerId: string): Promise<void> {
      await db.delete(signIn).where(and(eq(signIn.kind, kind), eq(signIn.ownerId, ownerId)));
    },

    async update(key: SignInKey, change: Partial<SignInRow>): Promise<void> {
      await db.update(signIn).set(change).where(isRow(key));
    },
  };
}

/** Queries of the checks of sign-ins. */
export function createSignInCheckStore(database: D1Database) {
  const db = drizzle(database);
  return {
    /** Changes a sign-in, unless it was used meanwhile: a new sign-in wins over a check that runs. */
    async updateUnless(row: SignInRow, change: Partial<SignInRow>): Promise<void> {
      const isUnchanged = and(
        isRow(row),
        sql`${signIn.refreshSealed} IS ${row.refreshSealed}`,
        sql`${signIn.lastUsedAt} IS ${row.lastUsedAt}`,
      );
      await db.update(signIn).set(change).where(isUnchanged);
    },

    /** Lists sign-ins whose check is due, the longest due first. */
    async listDue(now: number, limit: number): Promise<SignInRow[]> {
      const isDue = and(isNotNull(signIn.checkAt), lte(signIn.checkAt, now));
      return db.select(columns).from(signIn).where(isDue).orderBy(asc(signIn.checkAt)).limit(limit);
    },

    /**
     * Takes a sign-in for a check, so that no other check uses the same refresh token: a provider that rotates tokens takes a
     * second use for theft. @param until time from which another check may take it. @returns false if another check has it.
     */
    async lease(row: SignInRow, until: number): Promise<boolean> {
      const seen = row.checkAt === null ? isNull(signIn.checkAt) : eq(signIn.checkAt, row.checkAt);
      const leased = await db
        .update(signIn)
        .set({ checkAt: until })
        .where(and(isRow(row), seen))
        .run();
      return leased.meta.changes > 0;
    },

    /** Whether the user has another sign-in that its provider confirms. */
    async hasAnother({ issuer, kind, ownerId }: SignInRow): Promise<boolean> {
      const isOther = and(eq(signIn.kind, kind), eq(signIn.ownerId, ownerId), ne(signIn.issuer, issuer));
      const found = db.select({ issuer: signIn.issuer }).from(signIn);
      return (await found.where(and(isOther, isNotNull(signIn.checkAt))).get()) !== undefined;
    },

    async listSealed(after: string, limit: number) {
      const key = sql<string>`${signIn.kind} || ' ' || ${signIn.issuer} || ' ' || ${signIn.subject}`;
      return db
        .select({ key, sealed: sql<string>`${signIn.refreshSealed}` })
        .from(signIn)
        .where(and(isNotNull(signIn.refreshSealed), sql`${key} > ${after}`))
        .orderBy(key)
        .limit(limit);
    },

    async replaceSealed(before: string, after: string): Promise<void> {
      await db.update(signIn).set({ refreshSealed: after }).where(eq(signIn.refreshSealed, before));
    },
  };
}

/** Queries of sessions at the provider. */
export function createProviderSessionStore(database: D1Database) {
  const db = drizzle(database);
  return {
    async putProviderSession(row: typeof providerSession.$inferInsert): Promise<void> {
      const { subject, expiresAt } = row;
      const target = [providerSession.issuer, providerSession.sid];
      await db.insert(providerSession).values(row).onConflictDoUpdate({ target, set: { subject, expiresAt } });
    },

    async findSubject(issuer: string, sid: string, now: number): Promise<string | null> {
      const row = await db
        .select({ subject: providerSession.subject, expiresAt: providerSession.expiresAt })
        .from(providerSession)
        .where(and(eq(providerSession.issuer, issuer), eq(providerSession.sid, sid)))
        .get();
      return row !== undefined && row.expiresAt > now ? row.subject : null;
    },

    async prune(now: number): Promise<void> {
      await db.delete(providerSession).where(lt(providerSession.expiresAt, now));
    },
  };
}

/** Suspensions by a check of the provider, in the home database of the user. Those of an operator are never lifted here. */
export function createPauseStore(database: D1Database) {
  const db = drizzle(database);
  return {
    /** Suspends a user until the next sign-in. @returns false if the user is suspended, or unknown. */
    async pause(userId: string, now: number, audit: AuditRow): Promise<boolean> {
      const change = db
        .update(user)
        .set({ suspendedAt: now, suspendedBy: BY_PROVIDER })
        .where(and(eq(user.userId, userId), isNull(user.suspendedAt)));
      return (await db.batch([change, insertIfChanged(db, audit), raiseGeneration(db)]))[0].meta.changes > 0;
    },

    /** Lifts a suspension of `pause`. @returns false if there is none. */
    async resume(userId: string, audit: AuditRow): Promise<boolean> {
      const change = db
        .update(user)
        .set({ suspendedAt: null, suspendedBy: null })
        .where(and(eq(user.userId, userId), eq(user.suspendedBy, BY_PROVIDER)));
      return (await db.batch([change, insertIfChanged(db, audit)]))[0].meta.changes > 0;
    },

    /** Whether a check of the provider suspended the user. */
    async isPaused(userId: string): Promise<boolean> {
      const isOwn = and(eq(user.userId, userId), eq(user.suspendedBy, BY_PROVIDER), isNotNull(user.suspendedAt));
      return (await db.select({ userId: user.userId }).from(user).where(isOwn).get()) !== undefined;
    },
  };
}

type NewUser = {
  readonly userId: string;
  readonly userName: string;
  readonly name: string;
  readonly email: string;
  readonly createdAt: number;
};
const insertUser = statement<NewUser>(
  `INSERT INTO user (user_id, user_name, name, email, created_at)
   SELECT :userId, :userName, :name, :email, :createdAt WHERE changes() = 1`,
);
const insertSignIn = statement<{
  issuer: string;
  subject: string;
  ownerId: string;
  createdAt: number;
  refreshSealed: string | null;
  checkAt: number | null;
  confirmedAt: number | null;
}>(
  `INSERT INTO sign_in (issuer, subject, kind, owner_id, created_at, refresh_sealed, check_at, confirmed_at)
   SELECT :issuer, :subject, 'user', :ownerId, :createdAt, :refreshSealed, :checkAt, :confirmedAt WHERE changes() = 1`,
);

/**
 * Prepares a new user and the account of a provider that opens it, for the end of a batch: they are inserted if the statement before
 * changed one row. The batch fails if the email or the account of the provider is taken.
 */
export const prepareSignedInUser = (
  database: D1Database,
  user: NewUser,
  { issuer, subject, createdAt, refreshSealed, checkAt, confirmedAt }: SignInRow,
): D1PreparedStatement[] => [
  prepare(database, insertUser, user),
  prepare(database, insertSignIn, {
    issuer,
    subject,
    ownerId: user.userId,
    createdAt,
    refreshSealed,
    checkAt,
    confirmedAt,
  }),
];
