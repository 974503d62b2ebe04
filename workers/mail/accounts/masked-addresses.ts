/** Makes, changes, ends and opens masked addresses. The JSON API and JMAP both use this file. */
import { listUserTokens, type UserPrincipal } from '../../identity/index.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { isMissingCall } from '../../shared/stores/object-namespace.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { inventMaskedName } from '../domain/masked-name.ts';
import { type MaskedState, toEffectiveState } from '../domain/masked-state.ts';
import { findMainDomain } from '../domains/hosted-domains.ts';
import { addAddress } from '../store/address-store.ts';
import * as store from '../store/masked-store.ts';
import { reachMailbox } from './credentials.ts';

/** Names that are drawn before creation gives up. Names of other accounts are 1 in 256 million each. */
const DRAWS_MAX = 8;
const TOKENS_MAX = 200;

export interface MaskedRequest {
  readonly state: 'pending' | 'enabled' | 'disabled';
  readonly note: string;
  readonly forDomain: string;
  readonly url: string | null;
  /** Start of the name; null for a drawn word. */
  readonly prefix: string | null;
}

type Refusal = { readonly kind: 'too_many'; readonly max: number } | { readonly kind: 'no_domain' };

/** @returns a new address at the domain of the account. It is never issued again. */
export async function createMasked(
  env: Env,
  user: UserPrincipal,
  { prefix, ...request }: MaskedRequest,
): Promise<Result<store.MaskedAddress, Refusal>> {
  const email = user.email ?? '';
  const domain = await findMainDomain(env, email.slice(email.indexOf('@') + 1));
  if (domain === null) return err({ kind: 'no_domain' });
  const { MAX_MASKED_ADDRESSES_PER_ACCOUNT: max } = settingsOf(env);
  const made = { ...request, createdBy: await nameCreator(env, user), createdAt: createClock(env)() };
  for (let draw = 0; draw < DRAWS_MAX; draw++) {
    const address = { ...made, email: `${inventMaskedName(prefix)}@${domain}` };
    const outcome = await store.reserveMasked(env, user.userId, address, max);
    if (outcome === 'too_many') return err({ kind: 'too_many', max });
    if (outcome === 'taken') continue;
    if (await addAddress(env, address.email, user.userId, made.createdAt))
      return ok({ ...address, lastMessageAt: null });
    await store.releaseMasked(env, user.userId, address.email);
  }
  throw new Error(`every drawn name of ${DRAWS_MAX} is taken`);
}

/** @returns the name of the app token that made an address; of this service for the web app. */
async function nameCreator(env: Env, { userId, via, credentialId }: UserPrincipal): Promise<string> {
  if (via !== 'token') return 'Tessera';
  const tokens = await listUserTokens(env, userId, '', TOKENS_MAX);
  return tokens.find(({ tokenId }) => tokenId === credentialId)?.name ?? '';
}

export type MaskedChange = Partial<Pick<store.MaskedAddress, 'note' | 'forDomain' | 'url'>> & {
  readonly state?: Exclude<MaskedState, 'pending'>;
};

/**
 * Changes a masked address. The mailbox learns of the end before the directory does, so that a replica which still has the address
 * open makes no difference. It learns of the opening afterwards; until then, mail takes the longer way by the primary.
 * @returns the changed address; null if the user has no such address. @throws ProblemError (503) if the mailbox cannot be reached.
 */
export async function changeMasked(
  env: Env,
  userId: string,
  email: string,
  change: MaskedChange,
): Promise<store.MaskedAddress | null> {
  const found = await store.findMasked(env, userId, email);
  if (!found) return null;
  const before = toEffectiveState(found, createClock(env)());
  const after = { ...found, state: before, ...change };
  if (after.state === 'deleted' && before !== 'deleted')
    await reachMailbox(env, userId, (mailbox) => mailbox.retireAddress(email));
  await store.updateMasked(env, userId, after);
  if (after.state !== 'deleted' && before === 'deleted') await openAgain(env, userId, email);
  return after;
}

/** A mailbox that cannot be reached, or that still runs the release before, keeps the mark, which only costs time. */
async function openAgain(env: Env, userId: string, email: string): Promise<void> {
  try {
    await reachMailbox(env, userId, (mailbox) => mailbox.openAddressAgain(email));
  } catch (error) {
    if (!isMissingCall(error)) logError('masked_open_failed', error);
  }
}
