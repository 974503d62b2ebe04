/** `Identity/set` (RFC 8621 §6.3). */

import { randomUUID } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import type { IdentityChange } from '../../../../durable-objects/mail/contract/jmap.ts';
import type { StoredIdentity } from '../../../../durable-objects/mail/contract/mailbox.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { cleanDraftHtml } from '../../mime/clean-html.ts';
import { applyPatch } from '../domain/patch.ts';
import { type Identities, identitySchema, isOwn, readIdentities } from '../objects/identity.ts';
import { setArguments } from '../protocol/arguments.ts';
import { type Arguments, type Call, method, type SetError } from '../protocol/method.ts';
import { findSetError, invalidProperties, NOT_FOUND, runSet } from '../protocol/standard.ts';

const IDENTITIES_ADDED_MAX = 50;

export const identitySet = method({
  capability: 'submission',
  schema: z.strictObject(setArguments),
  run: async (call, args) => {
    const read = await readIdentities(call);
    if (!read.ok) return read;
    const refusal = findSetError(args, read.value.state);
    if (refusal) return err(refusal);
    const changes = new IdentityChanges(call, read.value);
    const outcome = await runSet(call, args, changes);
    const after = await readIdentities(call);
    if (!after.ok) return after;
    return ok(outcome.toAnswer(call, { oldState: read.value.state, newState: after.value.state }));
  },
});

class IdentityChanges {
  readonly #call: Call;
  readonly #identities: Identities;
  #stored: readonly StoredIdentity[];

  constructor(call: Call, identities: Identities) {
    this.#call = call;
    this.#identities = identities;
    this.#stored = identities.settings.identities;
  }

  readonly create = async (object: Arguments): Promise<Result<Arguments, SetError>> => {
    const parsed = parse(object);
    if (!parsed.ok) return parsed;
    const { email } = parsed.value;
    if (email === undefined) return err(invalidProperties(['email']));
    if (!isOwn(this.#identities.addresses, email))
      return err({ type: 'forbiddenFrom', description: 'Use one of your own addresses.' });
    if (this.#stored.filter(({ isAdded }) => isAdded).length >= IDENTITIES_ADDED_MAX) return err({ type: 'overQuota' });
    const identity = { ...parsed.value, id: randomUUID(), email: email.toLowerCase(), isAdded: true };
    const isDone = await this.#write([...this.#stored, identity], {
      type: 'identity_created',
      identityId: identity.id,
    });
    if (!isDone) return err({ type: 'serverFail' });
    const defaults = { name: '', replyTo: null, bcc: null, textSignature: '', htmlSignature: '' };
    const serverSet = Object.entries(defaults).filter(([name]) => !(name in object));
    const cleaned = findCleaned(parsed.value, object);
    return ok({ id: identity.id, mayDelete: true, ...Object.fromEntries(serverSet), ...cleaned });
  };

  readonly update = async (id: string, patch: Arguments): Promise<Result<Arguments | null, SetError>> => {
    const identity = this.#identities.list.find((each) => each.id === id);
    if (!identity) return NOT_FOUND;
    const patched = applyPatch(identity, patch);
    if (!patched) return err({ type: 'invalidPatch' });
    const { id: newId, email, mayDelete, ...rest } = patched;
    if (newId !== id || mayDelete !== identity.mayDelete) return err(invalidProperties(['id', 'mayDelete']));
    if (email !== identity.email) return err(invalidProperties(['email'], 'The address of an identity stays.'));
    const parsed = parse(rest);
    if (!parsed.ok) return parsed;
    const { textSignature, ...others } = parsed.value;
    const isFirst = id === this.#identities.list[0]?.id;
    if (isFirst && textSignature !== undefined) {
      const written = await this.#call.ask((mailbox) => mailbox.writeSettings({ signature: textSignature }));
      if (!written.ok) return err({ type: 'serverFail' });
    }
    const stored: StoredIdentity = {
      ...others,
      ...(isFirst ? {} : { textSignature }),
      id,
      email: identity.email,
      ...(identity.mayDelete ? { isAdded: true } : {}),
    };
    const next = [...this.#stored.filter((each) => each.id !== id), stored];
    return (await this.#write(next, { type: 'identity_updated', identityId: id }))
      ? ok(findCleaned(parsed.value, rest))
      : err({ type: 'serverFail' });
  };

  readonly destroy = async (id: string): Promise<Result<null, SetError>> => {
    const identity = this.#identities.list.find((each) => each.id === id);
    if (!identity) return NOT_FOUND;
    if (!identity.mayDelete)
      return err({ type: 'forbidden', description: 'The identity of an address stays with it.' });
    const next = this.#stored.filter((each) => each.id !== id);
    return (await this.#write(next, { type: 'identity_deleted', identityId: id }))
      ? ok(null)
      : err({ type: 'serverFail' });
  };

  async #write(stored: readonly StoredIdentity[], change: IdentityChange): Promise<boolean> {
    this.#stored = stored;
    return (await this.#call.ask((mailbox) => mailbox.writeIdentities(stored, change))).ok;
  }
}

/** @returns the HTML signature, if cleaning changed it, because the client must know (RFC 8620 §5.3). */
const findCleaned = ({ htmlSignature }: Arguments, given: Arguments): Arguments | null =>
  htmlSignature === given.htmlSignature ? null : { htmlSignature };

function parse(object: Arguments): Result<z.output<typeof identitySchema>, SetError> {
  const parsed = identitySchema.safeParse(object);
  if (parsed.success) {
    const { htmlSignature: html } = parsed.data;
    return ok({ ...parsed.data, ...(html === undefined ? {} : { htmlSignature: cleanDraftHtml(html) }) });
  }
  const [issue] = parsed.error.issues;
  const names = issue?.code === 'unrecognized_keys' ? issue.keys : [String(issue?.path[0] ?? '')];
  return err(invalidProperties(names, issue?.message));
}
