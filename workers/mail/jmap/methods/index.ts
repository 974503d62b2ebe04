/** All methods of JMAP, by name. */
import type { Method } from '../protocol/method.ts';
import { blobCopy } from './blob-copy.ts';
import { blobGet } from './blob-get.ts';
import { blobLookup } from './blob-lookup.ts';
import { blobUpload } from './blob-upload.ts';
import { coreEcho } from './core-echo.ts';
import { emailChanges } from './email-changes.ts';
import { emailCopy } from './email-copy.ts';
import { emailGet } from './email-get.ts';
import { emailImport } from './email-import.ts';
import { emailParse } from './email-parse.ts';
import { emailQuery } from './email-query.ts';
import { emailQueryChanges } from './email-query-changes.ts';
import { emailSet } from './email-set.ts';
import { emailSubmissionChanges } from './email-submission-changes.ts';
import { emailSubmissionGet } from './email-submission-get.ts';
import { emailSubmissionQuery } from './email-submission-query.ts';
import { emailSubmissionQueryChanges } from './email-submission-query-changes.ts';
import { emailSubmissionSet } from './email-submission-set.ts';
import { identityChanges } from './identity-changes.ts';
import { identityGet } from './identity-get.ts';
import { identitySet } from './identity-set.ts';
import { mailboxChanges } from './mailbox-changes.ts';
import { mailboxGet } from './mailbox-get.ts';
import { mailboxQuery } from './mailbox-query.ts';
import { mailboxQueryChanges } from './mailbox-query-changes.ts';
import { mailboxSet } from './mailbox-set.ts';
import { maskedEmailGet } from './masked-email-get.ts';
import { maskedEmailSet } from './masked-email-set.ts';
import { pushSubscriptionGet } from './push-subscription-get.ts';
import { pushSubscriptionSet } from './push-subscription-set.ts';
import { quotaChanges } from './quota-changes.ts';
import { quotaGet } from './quota-get.ts';
import { quotaQuery } from './quota-query.ts';
import { quotaQueryChanges } from './quota-query-changes.ts';
import { searchSnippetGet } from './search-snippet-get.ts';
import { threadChanges } from './thread-changes.ts';
import { threadGet } from './thread-get.ts';
import { vacationResponseGet } from './vacation-response-get.ts';
import { vacationResponseSet } from './vacation-response-set.ts';

export const methods: Readonly<Record<string, Method>> = {
  'Core/echo': coreEcho,
  'Blob/copy': blobCopy,
  'Blob/get': blobGet,
  'Blob/lookup': blobLookup,
  'Blob/upload': blobUpload,
  'Mailbox/get': mailboxGet,
  'Mailbox/changes': mailboxChanges,
  'Mailbox/query': mailboxQuery,
  'Mailbox/queryChanges': mailboxQueryChanges,
  'Mailbox/set': mailboxSet,
  'Thread/get': threadGet,
  'Thread/changes': threadChanges,
  'Email/get': emailGet,
  'Email/changes': emailChanges,
  'Email/query': emailQuery,
  'Email/queryChanges': emailQueryChanges,
  'Email/set': emailSet,
  'Email/copy': emailCopy,
  'Email/import': emailImport,
  'Email/parse': emailParse,
  'SearchSnippet/get': searchSnippetGet,
  'Identity/get': identityGet,
  'Identity/changes': identityChanges,
  'Identity/set': identitySet,
  'EmailSubmission/get': emailSubmissionGet,
  'EmailSubmission/changes': emailSubmissionChanges,
  'EmailSubmission/query': emailSubmissionQuery,
  'EmailSubmission/queryChanges': emailSubmissionQueryChanges,
  'EmailSubmission/set': emailSubmissionSet,
  'VacationResponse/get': vacationResponseGet,
  'VacationResponse/set': vacationResponseSet,
  'PushSubscription/get': pushSubscriptionGet,
  'PushSubscription/set': pushSubscriptionSet,
  'Quota/get': quotaGet,
  'Quota/changes': quotaChanges,
  'Quota/query': quotaQuery,
  'Quota/queryChanges': quotaQueryChanges,
  'MaskedEmail/get': maskedEmailGet,
  'MaskedEmail/set': maskedEmailSet,
};
