/** The JSON API of mail. Each part adds its own routes. */
import { allowJson, createRoutes } from '../shared/json/json-api.ts';
import { addImap } from './imap/index.ts';
import { addJmap } from './jmap/index.ts';
import { addAccountAddresses } from './routes/account-addresses.ts';
import { addAccountRestores } from './routes/account-restores.ts';
import { addAccounts } from './routes/accounts.ts';
import { addAddressForwards } from './routes/address-forwards.ts';
import { addAuth } from './routes/auth.ts';
import { addAutoconfig } from './routes/autoconfig.ts';
import { addComplaints } from './routes/complaints.ts';
import { addConfirmation } from './routes/confirmed.ts';
import { addContacts } from './routes/contacts.ts';
import { addDomains } from './routes/domains.ts';
import { addDrafts } from './routes/drafts.ts';
import { addEvents } from './routes/events.ts';
import { addFilters } from './routes/filters.ts';
import { addFolders } from './routes/folders.ts';
import { addInbound } from './routes/inbound.ts';
import { addInvitation } from './routes/invitation.ts';
import { addLabels } from './routes/labels.ts';
import { addMe } from './routes/me.ts';
import { addAccessKeys } from './routes/me-access-keys.ts';
import { addAddresses, addAppTokens } from './routes/me-credentials.ts';
import { addForwardTargets, addVacation } from './routes/me-mail.ts';
import { addPasskeys } from './routes/me-passkeys.ts';
import { addRecoveryAddress } from './routes/me-recovery.ts';
import { addSecurity } from './routes/me-security.ts';
import { addTemporaryKeys } from './routes/me-temporary-keys.ts';
import { addMessageChanges } from './routes/message-changes.ts';
import { addMessages } from './routes/messages.ts';
import { addOutbound } from './routes/outbound.ts';
import { addPasskeyLogin } from './routes/passkey-login.ts';
import { addPushSubscriptions } from './routes/push-subscriptions.ts';
import { addQuarantine } from './routes/quarantine.ts';
import { addRecovery } from './routes/recovery.ts';
import { addSearch } from './routes/search.ts';
import { addSecurityReview } from './routes/security-review.ts';
import { addSenders } from './routes/senders.ts';
import { addSending } from './routes/sending.ts';
import { addSendingState } from './routes/sending-state.ts';
import { addSuppressions } from './routes/suppressions.ts';
import { addTransfer } from './routes/transfer.ts';

/**
 * Maximum size of JSON bodies with a message. It has room for one attachment of 5 MB in Base64, or for long texts. Larger files are
 * uploaded first, as streams. An isolate has 128 MB for all its requests, and a body is in memory several times: as bytes, as text,
 * parsed, and as the composed message.
 */
const MESSAGE_JSON_BYTES_MAX = 8 * 1024 * 1024;

export const mailApi = createRoutes();
for (const path of ['/v1/messages', '/v1/drafts', '/v1/drafts/*']) mailApi.use(path, allowJson(MESSAGE_JSON_BYTES_MAX));
addAuth(mailApi);
addConfirmation(mailApi);
addMe(mailApi);
addSecurity(mailApi);
addAppTokens(mailApi);
addAccessKeys(mailApi);
addTemporaryKeys(mailApi);
addAddresses(mailApi);
addAccounts(mailApi);
addAccountRestores(mailApi);
addAccountAddresses(mailApi);
addRecovery(mailApi);
addPasskeyLogin(mailApi);
addPasskeys(mailApi);
addSecurityReview(mailApi);
addRecoveryAddress(mailApi);
addFolders(mailApi);
addLabels(mailApi);
addMessageChanges(mailApi);
addMessages(mailApi);
addInvitation(mailApi);
addSearch(mailApi);
addEvents(mailApi);
addDrafts(mailApi);
addFilters(mailApi);
addContacts(mailApi);
addSenders(mailApi);
addTransfer(mailApi);
addPushSubscriptions(mailApi);
addVacation(mailApi);
addForwardTargets(mailApi);
addAddressForwards(mailApi);
addSending(mailApi);
addInbound(mailApi);
addOutbound(mailApi);
addSuppressions(mailApi);
addComplaints(mailApi);
addSendingState(mailApi);
addDomains(mailApi);
addQuarantine(mailApi);
addJmap(mailApi);
addImap(mailApi);
addAutoconfig(mailApi);

export const createApi = () => mailApi;
