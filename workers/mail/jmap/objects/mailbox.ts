/** Converts folders to JMAP mailboxes (RFC 8621 §2). The views All and Flagged hold no message, so they are not mailboxes. */
import { VIEW_ROLES } from '../../../../durable-objects/mail/contract/folders.ts';
import type { JmapFolder } from '../../../../durable-objects/mail/contract/jmap.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { toNameKey } from '../../domain/folder-name.ts';
import { type Arguments, type Call, type MethodError, toMethodError } from '../protocol/method.ts';

export const MAILBOX_PROPERTIES = [
  'id',
  'name',
  'parentId',
  'role',
  'sortOrder',
  'totalEmails',
  'unreadEmails',
  'totalThreads',
  'unreadThreads',
  'myRights',
  'isSubscribed',
] as const;
export const COUNT_PROPERTIES = ['totalEmails', 'unreadEmails', 'totalThreads', 'unreadThreads'] as const;

export interface JmapMailbox extends Arguments {
  readonly id: string;
  /** Name of the mailbox: the last part of the folder's path. */
  readonly name: string;
  readonly parentId: string | null;
  readonly role: string | null;
  readonly sortOrder: number;
  readonly totalEmails: number;
  readonly unreadEmails: number;
  readonly totalThreads: number;
  readonly unreadThreads: number;
  readonly isSubscribed: boolean;
  /** Whole path of the folder. This is not a property of JMAP. */
  readonly path: string;
}

/** @param withThreads true to count threads too, which costs more. */
export async function readMailboxes(
  call: Call,
  withThreads: boolean,
): Promise<Result<{ state: string; mailboxes: JmapMailbox[] }, MethodError>> {
  const read = call.folders ?? (await call.ask((mailbox) => mailbox.readJmapFolders(withThreads)));
  if (!read.ok) return err(toMethodError(read.error));
  return ok({ state: read.value.state, mailboxes: toMailboxes(read.value.folders) });
}

function toMailboxes(folders: readonly JmapFolder[]): JmapMailbox[] {
  const real = folders.filter(({ role }) => role === null || !VIEW_ROLES.includes(role));
  const byPath = new Map(real.map((folder) => [toNameKey(folder.name), folder]));
  return real.map((folder) => {
    const slash = folder.name.lastIndexOf('/');
    const parent = slash < 0 ? undefined : byPath.get(toNameKey(folder.name.slice(0, slash)));
    return {
      id: folder.folderId,
      name: folder.name.slice(slash + 1),
      parentId: parent?.folderId ?? null,
      role: folder.role,
      sortOrder: folder.sortOrder,
      totalEmails: folder.total,
      unreadEmails: folder.unread,
      totalThreads: folder.totalThreads,
      unreadThreads: folder.unreadThreads,
      myRights: toRights(folder.role !== null),
      isSubscribed: folder.isSubscribed,
      path: folder.name,
    };
  });
}

const toRights = (hasRole: boolean) => ({
  mayReadItems: true,
  mayAddItems: true,
  mayRemoveItems: true,
  maySetSeen: true,
  maySetKeywords: true,
  mayCreateChild: true,
  mayRename: !hasRole,
  mayDelete: !hasRole,
  maySubmit: true,
});

export const withoutPath = ({ path: _, ...mailbox }: JmapMailbox): Arguments => mailbox;
