/** The folders of a mailbox and their roles. */

export const FOLDER_ROLES = ['inbox', 'all', 'archive', 'drafts', 'flagged', 'junk', 'sent', 'trash'] as const;

export type FolderRole = (typeof FOLDER_ROLES)[number];

/** Roles of views: folders that show messages of other folders and hold none. */
export const VIEW_ROLES: readonly FolderRole[] = ['all', 'flagged'];

export interface FolderRow {
  /** Number of the folder in the mailbox. */
  readonly folder: number;
  readonly folder_id: string;
  readonly name: string;
  readonly role: FolderRole | null;
  readonly total: number;
  readonly unread: number;
}

export type FolderError =
  | { readonly kind: 'no_folder' }
  | { readonly kind: 'folder_exists' }
  | { readonly kind: 'folder_fixed' }
  | { readonly kind: 'too_many_folders'; readonly max: number }
  | { readonly kind: 'bad_folder_name'; readonly reason: string };
