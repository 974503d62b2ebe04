/** The expected errors of mail requests, with their problem documents. */
import type { FolderError } from '../../../durable-objects/mail/contract/folders.ts';

import { type Problem, problem } from '../../shared/json/problem.ts';

export type MailError =
  | FolderError
  | { readonly kind: 'no_mailbox' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'bad_request'; readonly path: string; readonly message: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'draft_changed'; readonly revision: number }
  | { readonly kind: 'conflict'; readonly detail: string };

/** Seconds after which a client should retry if a mailbox cannot be reached. */
const UNAVAILABLE_RETRY_SECONDS = 5;

export const MAILBOX_UNAVAILABLE = problem(
  503,
  'mailbox_unavailable',
  'The mailbox cannot be reached right now. No data was lost; retry later.',
  {
    retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS,
  },
);
/** Problem for an unknown id. An id of another user gets the same one. */
export const NOT_FOUND = problem(404, 'not_found', 'Your mailbox has nothing with this id.');

export const toBadRequest = (path: string, message: string): Problem =>
  problem(400, 'invalid_request', message, { errors: [{ path, message }] });

export function toMailProblem(error: MailError): Problem {
  switch (error.kind) {
    case 'no_mailbox':
      return problem(404, 'no_mailbox', 'This user has no mailbox.');
    case 'not_found':
      return NOT_FOUND;
    case 'no_folder':
      return problem(404, 'no_such_folder', 'Folder not found, or it is a view that contains no messages of its own.');
    case 'folder_exists':
      return problem(409, 'folder_exists', 'A folder with this name already exists.');
    case 'folder_fixed':
      return problem(409, 'folder_fixed', 'A folder with a role cannot be renamed or moved.');
    case 'bad_folder_name':
      return toBadRequest('name', error.reason);
    case 'too_many_folders':
      return problem(409, 'too_many_folders', `A mailbox may have at most ${error.max} folders.`);
    case 'over_quota':
      return problem(
        413,
        'over_quota',
        `The mailbox is full: ${error.usedBytes} of ${error.limitBytes} bytes are used.`,
      );
    case 'bad_request':
      return toBadRequest(error.path, error.message);
    case 'too_many':
      return problem(409, 'too_many', `There may be at most ${error.max} ${error.what}.`);
    case 'rate_limited':
      return problem(429, 'rate_limited', 'Too many requests in a short time. Wait, then retry.', {
        retryAfterSeconds: error.retryAfterMs / 1000,
      });
    case 'draft_changed':
      return problem(412, 'draft_changed', `The draft was changed elsewhere: its revision is now ${error.revision}.`);
    case 'conflict':
      return problem(409, 'conflict', error.detail);
  }
}
