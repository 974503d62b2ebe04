/** `Mailbox/set` (RFC 8621 §2.5). */
import { z } from '@hono/zod-openapi';
import type { Problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type JmapMailbox, readMailboxes } from '../objects/mailbox.ts';
import { setArguments, uintSchema } from '../protocol/arguments.ts';
import { MAILBOX_DEPTH_MAX } from '../protocol/limits.ts';
import { type Arguments, type Call, method, type SetError } from '../protocol/method.ts';
import { findSetError, invalidProperties, NOT_FOUND, resolveId, runSet } from '../protocol/standard.ts';

const propertiesSchema = z.strictObject({
  // One part of the folder's path. The path is stored as one text with `/` between its parts, so no part may contain `/`.
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[^/]*$/, 'must not contain "/"')
    .optional(),
  parentId: z.string().nullable().optional(),
  role: z.null().optional(),
  sortOrder: uintSchema.optional(),
  isSubscribed: z.boolean().optional(),
});
type Properties = z.output<typeof propertiesSchema>;

export const mailboxSet = method({
  capability: 'mail',
  schema: z.strictObject({ ...setArguments, onDestroyRemoveEmails: z.boolean().default(false) }),
  run: async (call, args) => {
    const before = await readMailboxes(call, false);
    if (!before.ok) return before;
    const refusal = findSetError(args, before.value.state);
    if (refusal) return err(refusal);
    const changes = new MailboxChanges(call, before.value.mailboxes);
    const outcome = await runSet(
      call,
      { ...args, create: orderByParent(args.create) },
      {
        create: (object) => changes.create(object),
        update: (id, patch) => changes.update(id, patch),
        destroy: (id) => changes.destroy(id, args.onDestroyRemoveEmails),
      },
    );
    const after = await readMailboxes(call, false);
    if (!after.ok) return after;
    return ok(outcome.toAnswer(call, { oldState: before.value.state, newState: after.value.state }));
  },
});

/** Orders the mailboxes to create so that parents come before their children. Both may be created in the same call. */
function orderByParent(create: Readonly<Record<string, Arguments>> | null): Record<string, Arguments> | null {
  if (create === null) return null;
  const depthOf = (key: string, seen: number): number => {
    const { parentId } = create[key] ?? {};
    const isHere = typeof parentId === 'string' && parentId.startsWith('#') && parentId.slice(1) in create;
    return isHere && seen < MAILBOX_DEPTH_MAX ? 1 + depthOf(parentId.slice(1), seen + 1) : 0;
  };
  return Object.fromEntries(Object.entries(create).sort(([a], [b]) => depthOf(a, 0) - depthOf(b, 0)));
}

class MailboxChanges {
  readonly #call: Call;
  #mailboxes: readonly JmapMailbox[];

  constructor(call: Call, mailboxes: readonly JmapMailbox[]) {
    this.#call = call;
    this.#mailboxes = mailboxes;
  }

  async create(object: Arguments): Promise<Result<Arguments, SetError>> {
    const properties = parse(object);
    if (!properties.ok) return properties;
    const { name, parentId = null, sortOrder = 0, isSubscribed = true } = properties.value;
    if (name === undefined) return err(invalidProperties(['name']));
    const path = this.#toPath(name, parentId);
    if (path === null) return err(invalidProperties(['parentId']));
    const made = await this.#call.ask((mailbox) => mailbox.createFolder(path));
    if (!made.ok) return err(await this.#toSetError(made.error, path));
    const id = made.value.folder_id;
    if (sortOrder !== 0 || !isSubscribed)
      await this.#call.ask((mailbox) => mailbox.arrangeFolder(id, { sortOrder, isSubscribed }));
    await this.#reload();
    const mailbox = this.#mailboxes.find((each) => each.id === id);
    const { path: _, name: __, parentId: ___, ...serverSet } = mailbox ?? { id, path, name, parentId };
    return ok(serverSet);
  }

  async update(id: string, patch: Arguments): Promise<Result<null, SetError>> {
    const mailbox = this.#mailboxes.find((each) => each.id === id);
    if (!mailbox) return NOT_FOUND;
    // Clients may send properties that they did not change. These are ignored.
    const changed = Object.fromEntries(
      Object.entries(patch).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(mailbox[name])),
    );
    const properties = parse(changed);
    if (!properties.ok) return properties;
    const { name, parentId, sortOrder, isSubscribed } = properties.value;
    if (name !== undefined || parentId !== undefined) {
      const path = this.#toPath(name ?? mailbox.name, parentId === undefined ? mailbox.parentId : parentId);
      if (path === null) return err(invalidProperties(['parentId']));
      const renamed = await this.#call.ask((box) => box.renameFolder(id, path));
      if (!renamed.ok) return err(await this.#toSetError(renamed.error, path));
    }
    if (sortOrder !== undefined || isSubscribed !== undefined) {
      const arranged = await this.#call.ask((box) => box.arrangeFolder(id, { sortOrder, isSubscribed }));
      if (!arranged.ok) return err({ type: 'serverFail' });
    }
    await this.#reload();
    return ok(null);
  }

  async destroy(id: string, removeEmails: boolean): Promise<Result<null, SetError>> {
    const mailbox = this.#mailboxes.find((each) => each.id === id);
    if (!mailbox) return NOT_FOUND;
    if (mailbox.role !== null) return err({ type: 'forbidden', description: 'A mailbox with a role stays.' });
    if (this.#mailboxes.some(({ parentId }) => parentId === id)) return err({ type: 'mailboxHasChild' });
    const gone = await this.#call.ask((box) => box.destroyFolder(id, removeEmails));
    if (!gone.ok) return gone.error.code === 'not_found' ? NOT_FOUND : err({ type: 'serverFail' });
    if (gone.value === 'has_mail') return err({ type: 'mailboxHasEmail' });
    await this.#reload();
    return ok(null);
  }

  /** @returns the path of a mailbox; null if the parent does not exist. */
  #toPath(name: string, parentId: string | null): string | null {
    if (parentId === null) return name;
    const id = resolveId(this.#call, parentId);
    const parent = this.#mailboxes.find((each) => each.id === id);
    return parent ? `${parent.path}/${name}` : null;
  }

  async #toSetError(problem: Problem, path: string): Promise<SetError> {
    if (problem.code === 'folder_exists') {
      const existing = this.#mailboxes.find((each) => each.path.toLowerCase() === path.toLowerCase());
      return { type: 'alreadyExists', ...(existing ? { existingId: existing.id } : {}) };
    }
    if (problem.code === 'folder_fixed')
      return { type: 'forbidden', description: 'A mailbox with a role keeps its name.' };
    if (problem.code === 'too_many_folders') return { type: 'overQuota' };
    return invalidProperties(['name'], problem.detail);
  }

  async #reload(): Promise<void> {
    const read = await readMailboxes(this.#call, false);
    if (read.ok) this.#mailboxes = read.value.mailboxes;
  }
}

function parse(object: Arguments): Result<Properties, SetError> {
  const parsed = propertiesSchema.safeParse(object);
  if (parsed.success) return ok(parsed.data);
  const properties = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path[0] ?? '')],
  );
  return err(invalidProperties([...new Set(properties)], parsed.error.issues[0]?.message));
}
