/**
 * The RPC methods of the mailbox's furniture (filters, contacts, vacation, forwarding), each one store call in one
 * transaction. `Mailbox.command(name, …)` runs them, so that the shell need not name each.
 */
import type { FilterRule } from '../../workers/mail/domain/filter-rule.ts';
import { err, ok, type Result } from '../../workers/shared/result.ts';
import { storeMessage } from './arrival-store.ts';
import { recordChange } from './change-store.ts';
import {
  type ContactCursor,
  type ContactFields,
  deleteContact,
  insertContact,
  listContacts,
  replaceContact,
} from './contact-store.ts';
import type { ParsedMessage, StoreMessageInput } from './delivered-message.ts';
import { listForExport, listKnownRaws } from './export-store.ts';
import { applyFilterRound, deleteFilter, insertFilter, listFilters, replaceFilter } from './filter-store.ts';
import {
  confirmForwardTarget,
  deleteForwardTarget,
  listForwardTargets,
  requestForwardTarget,
} from './forward-target-store.ts';
import { countLabels } from './label-store.ts';
import { listRebuildSources, rebuildMessage } from './rebuild-store.ts';
import { readSpamModel } from './spam-lesson-store.ts';
import { type MailboxRow, type MailboxSettings, readMailbox, writeSettings } from './store.ts';

export interface CommandContext {
  readonly sql: SqlStorage;
  readonly mailbox: MailboxRow;
  readonly now: number;
}

const NOT_FOUND = { kind: 'not_found' } as const;
const orNotFound = (isDone: boolean) => (isDone ? ok(null) : err(NOT_FOUND));

export const COMMANDS = {
  writeSettings: ({ sql, mailbox, now }: CommandContext, settings: Partial<MailboxSettings>) => {
    const merged: MailboxSettings = { ...mailbox.settings, ...settings };
    writeSettings(sql, merged);
    recordChange(sql, { type: 'mailbox_updated' }, now);
    return ok(merged);
  },

  /** Many at once, in one transaction: each has its own answer, as from `storeMessage`. */
  storeMessages: ({ sql, now }: CommandContext, inputs: readonly StoreMessageInput[]) =>
    ok(
      inputs.map((input) => {
        // Read anew for each: the one before used some of the quota.
        const mailbox = readMailbox(sql);
        return mailbox ? storeMessage(sql, mailbox, input, now) : err({ kind: 'no_mailbox' } as const);
      }),
    ),

  listFilters: ({ sql }: CommandContext) => ok(listFilters(sql)),
  insertFilter: ({ sql, now }: CommandContext, rule: FilterRule, at: number | null) => insertFilter(sql, rule, at, now),
  replaceFilter: ({ sql, now }: CommandContext, filterId: string, rule: FilterRule, at: number | null) =>
    replaceFilter(sql, filterId, rule, at, now),
  deleteFilter: ({ sql, now }: CommandContext, filterId: string) => orNotFound(deleteFilter(sql, filterId, now)),
  /** One round of some messages before a position; call again with what it answers. */
  applyFilter: ({ sql, now }: CommandContext, filterId: string, before: number) => {
    const filter = listFilters(sql).find((each) => each.filterId === filterId);
    return filter ? ok(applyFilterRound(sql, filter, before, now)) : err(NOT_FOUND);
  },

  countLabels: ({ sql }: CommandContext, after: string, limit: number) => ok(countLabels(sql, after, limit)),

  listKnownRaws: ({ sql }: CommandContext, rawSha256s: readonly string[]) => ok(listKnownRaws(sql, rawSha256s)),
  listForExport: (
    { sql }: CommandContext,
    folderKey: string | null,
    afterId: string | null,
    position: number | null,
    limit: number,
  ) => listForExport(sql, folderKey, afterId, position, limit),

  readSpamModel: ({ sql }: CommandContext) => ok(readSpamModel(sql)),
  listRebuildSources: ({ sql }: CommandContext, after: number, limit: number) =>
    ok(listRebuildSources(sql, after, limit)),
  rebuildMessage: ({ sql, now }: CommandContext, messageId: string, parsed: ParsedMessage) =>
    rebuildMessage(sql, messageId, parsed, now),

  listContacts: ({ sql }: CommandContext, text: string, after: ContactCursor | null, limit: number) =>
    ok(listContacts(sql, text, after, limit)),
  insertContact: ({ sql, now }: CommandContext, fields: ContactFields) => insertContact(sql, fields, now),
  replaceContact: ({ sql, now }: CommandContext, contactId: string, fields: ContactFields) =>
    replaceContact(sql, contactId, fields, now),
  deleteContact: ({ sql, now }: CommandContext, contactId: string) => orNotFound(deleteContact(sql, contactId, now)),

  listForwardTargets: ({ sql }: CommandContext) => ok(listForwardTargets(sql)),
  requestForwardTarget: ({ sql, now }: CommandContext, email: string, sendLimitPerHour: number) => {
    const fault = requestForwardTarget(sql, email, sendLimitPerHour, now);
    return fault ? err(fault) : ok(null);
  },
  confirmForwardTarget: ({ sql, now }: CommandContext, email: string, code: string) =>
    orNotFound(confirmForwardTarget(sql, email, code, now)),
  deleteForwardTarget: ({ sql }: CommandContext, email: string) => orNotFound(deleteForwardTarget(sql, email)),
};

type Commands = typeof COMMANDS;
export type CommandName = keyof Commands;
export type CommandArguments<N extends CommandName> =
  Parameters<Commands[N]> extends [CommandContext, ...infer Rest] ? Rest : never;

/** A union of results as one result of unions. */
type Flatten<R> = Result<
  R extends { readonly ok: true; readonly value: infer T } ? T : never,
  R extends { readonly ok: false; readonly error: infer E } ? E : never
>;
export type CommandAnswer<N extends CommandName> = Flatten<ReturnType<Commands[N]>>;
