/** Calls about what the user configures: settings, filters, contacts, forwarding. */

import type { FilterRule } from '../../../workers/mail/domain/filter-rule.ts';
import type { SendLimits } from '../../../workers/mail/domain/send-limit.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type {
  Contact,
  ContactCursor,
  ContactError,
  ContactFields,
  Sender,
  SenderError,
  SenderStatus,
} from '../contract/contacts.ts';
import type { MailboxSettings, NoMailbox, ReadError } from '../contract/mailbox.ts';
import type {
  AddressForward,
  AddressForwardError,
  ApplyRound,
  Filter,
  FilterError,
  ForwardTarget,
  ForwardTargetError,
} from '../contract/rules.ts';
import { recordChange } from '../database/change-store.ts';
import { writeSettings } from '../database/store.ts';
import { deleteSender, listSenders, saveSender } from '../messages/sender-store.ts';
import { readSpamModel } from '../messages/spam-lesson-store.ts';
import { deleteAddressForward, listAddressForwards, saveAddressForward } from '../rules/address-forward-store.ts';
import { deleteContact, insertContact, listContacts, replaceContact } from '../rules/contact-store.ts';
import { applyFilterRound, deleteFilter, insertFilter, listFilters, replaceFilter } from '../rules/filter-store.ts';
import {
  confirmForwardTarget,
  deleteForwardTarget,
  listForwardTargets,
  requestForwardTarget,
} from '../rules/forward-target-store.ts';
import { DraftCalls } from './draft-calls.ts';
import { orNotFound } from './transactions.ts';

export class RuleCalls extends DraftCalls {
  /** Replaces the given settings and keeps the others. @returns all settings. */
  async writeSettings(settings: Partial<MailboxSettings>): Promise<Result<MailboxSettings, NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => {
      const merged: MailboxSettings = { ...mailbox.settings, ...settings };
      writeSettings(sql, merged);
      recordChange(sql, { type: 'mailbox_updated' }, now);
      return ok(merged);
    });
  }

  async listFilters(): Promise<Result<Filter[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listFilters(sql)));
  }

  /** @param at position of the new filter in the list; null for the end. */
  async insertFilter(rule: FilterRule, at: number | null): Promise<Result<Filter, FilterError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => insertFilter(sql, rule, at, now));
  }

  /** @param at new position of the filter in the list; null keeps the old one. */
  async replaceFilter(
    filterId: string,
    rule: FilterRule,
    at: number | null,
  ): Promise<Result<Filter, FilterError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => replaceFilter(sql, filterId, rule, at, now));
  }

  async deleteFilter(filterId: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(deleteFilter(sql, filterId, now)));
  }

  /** Applies a filter to one round of messages before a position. To continue, call it again with the returned position. */
  async applyFilter(filterId: string, before: number): Promise<Result<ApplyRound, ReadError>> {
    return this.transactions.write((sql, _, now) => {
      const filter = listFilters(sql).find((each) => each.filterId === filterId);
      return filter ? ok(applyFilterRound(sql, filter, before, now)) : err({ kind: 'not_found' });
    });
  }

  async readSpamModel(): Promise<Result<Uint8Array | null, NoMailbox>> {
    return this.transactions.read((sql) => ok(readSpamModel(sql)));
  }

  async listContacts(text: string, after: ContactCursor | null, limit: number): Promise<Result<Contact[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listContacts(sql, text, after, limit)));
  }

  async insertContact(fields: ContactFields): Promise<Result<Contact, ContactError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => insertContact(sql, fields, now));
  }

  async replaceContact(contactId: string, fields: ContactFields): Promise<Result<Contact, ContactError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => replaceContact(sql, contactId, fields, now));
  }

  async deleteContact(contactId: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(deleteContact(sql, contactId, now)));
  }

  async listSenders(status: SenderStatus | null, after: string, limit: number): Promise<Result<Sender[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listSenders(sql, status, after, limit)));
  }

  async saveSender(sender: string, status: SenderStatus): Promise<Result<Sender, SenderError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => saveSender(sql, { sender, status, origin: 'user' }, now));
  }

  async deleteSender(senderId: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(deleteSender(sql, senderId, now)));
  }

  async listAddressForwards(): Promise<Result<AddressForward[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listAddressForwards(sql)));
  }

  async saveAddressForward(forward: AddressForward): Promise<Result<AddressForward, AddressForwardError | NoMailbox>> {
    return this.transactions.write((sql) => saveAddressForward(sql, forward));
  }

  async deleteAddressForward(email: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql) => orNotFound(deleteAddressForward(sql, email)));
  }

  async listForwardTargets(): Promise<Result<ForwardTarget[], NoMailbox>> {
    return this.transactions.read((sql) => ok(listForwardTargets(sql)));
  }

  async requestForwardTarget(email: string, limits: SendLimits): Promise<Result<null, ForwardTargetError | NoMailbox>> {
    return this.transactions.write((sql, _, now) => {
      const fault = requestForwardTarget(sql, email, limits, now);
      return fault ? err(fault) : ok(null);
    });
  }

  async confirmForwardTarget(email: string, code: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(confirmForwardTarget(sql, email, code, now)));
  }

  async deleteForwardTarget(email: string): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql) => orNotFound(deleteForwardTarget(sql, email)));
  }
}
