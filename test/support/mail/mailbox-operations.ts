/** Random operations, each applied to a real mailbox and to its model. They also write to R2, as the Worker does. */
import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect } from 'vitest';
import type {
  StoredMessage,
  StoreMessageError,
  StoreMessageInput,
} from '../../../durable-objects/mail/contract/delivered-message.ts';
import { eraseExpired } from '../../../durable-objects/mail/messages/batch-store.ts';
import { deleteBlobs } from '../../../workers/mail/bindings/blobs.ts';
import type { FilterRule } from '../../../workers/mail/domain/filter-rule.ts';
import { rebuildMailbox } from '../../../workers/mail/maintenance/rebuild-mailbox.ts';
import type { Result } from '../../../workers/shared/pure/result.ts';
import { LIMIT_BYTES, type Model, type ModelMessage, WORDS } from './mailbox-model.ts';
import {
  addMessage,
  anyFolder,
  atTime,
  DAY_MS,
  type Letter,
  nth,
  type Operation,
  put,
  small,
  text,
  value,
  type World,
} from './mailbox-world.ts';
import { WRITING } from './mailbox-writing.ts';

const OWN = ['Red', 'Red/Deep', 'Blue', 'Blue/Sea', 'Green'] as const;

const letter = fc.record({
  text,
  fileBytes: fc.array(fc.integer({ min: 1, max: 6_000 }), { maxLength: 2 }),
  folder: small,
  isRead: fc.boolean(),
  isFlagged: fc.boolean(),
  hour: fc.nat({ max: 30 }),
  origin: fc.constantFrom('received', 'received', 'imported'),
  applyRules: fc.boolean(),
});
type Outcome = Result<StoredMessage, StoreMessageError>;

/**
 * Applies a delivery to the model, and checks that the mailbox had the same outcome. @returns whether the mailbox now owns its
 * blobs.
 */
function receive(model: Model, given: Letter, input: StoreMessageInput, outcome: Outcome): boolean {
  const known = model.messages.find(({ rawSha256 }) => rawSha256 === input.rawSha256);
  if (given.origin === 'imported' && known) {
    expect(value(outcome).duplicate).toBe(true);
    return true;
  }
  if (model.usedBytes + input.sizeBytes > LIMIT_BYTES) {
    expect(outcome).toMatchObject({ ok: false, error: { kind: 'over_quota' } });
    return false;
  }
  const stored = value(outcome);
  expect(stored.duplicate).toBe(false);
  addMessage(model, stored.messageId, given, input);
  return true;
}

const store = fc.tuple(letter, fc.boolean()).map(
  ([given, isRepeated]): Operation =>
    async (world) => {
      const { input, written } = await put(world, given);
      const outcome = await world.mailbox.storeMessage(input);
      if (!receive(world.model, given, input, outcome)) return deleteBlobs(env, written);
      if (isRepeated) {
        const { messageId } = value(outcome);
        expect(value(await world.mailbox.storeMessage(input))).toMatchObject({ messageId, duplicate: true });
      }
    },
);

/** Stores many messages in one transaction. Some may exceed the quota. */
const storeMany = fc.array(letter, { minLength: 2, maxLength: 6 }).map(
  (letters): Operation =>
    async (world) => {
      const puts = await Promise.all(letters.map((given) => put(world, given)));
      const outcomes = value(await world.mailbox.storeMessages(puts.map(({ input }) => input)));
      for (const [at, given] of letters.entries()) {
        const [one, outcome] = [puts[at], outcomes[at]];
        if (!one || !outcome) throw new Error('A result is missing.');
        if (!receive(world.model, given, one.input, outcome)) await deleteBlobs(env, one.written);
      }
    },
);

const labels = fc.option(fc.subarray(['a', 'b', 'c']), { nil: undefined });
const patch = fc
  .record({
    which: fc.array(fc.option(small, { freq: 12 }), { minLength: 1, maxLength: 8 }),
    isRead: fc.option(fc.boolean(), { nil: undefined }),
    isFlagged: fc.option(fc.boolean(), { nil: undefined }),
    folder: fc.option(small, { nil: undefined }),
    labels,
    addLabels: labels,
    removeLabels: labels,
  })
  .map(
    ({ which, folder, ...marks }): Operation =>
      async ({ mailbox, model }) => {
        const chosen = which.map((n) => (n === null ? undefined : nth(model.messages, n)));
        const folderKey = folder === undefined ? undefined : anyFolder(model, folder);
        const ids = chosen.map((message) => message?.id ?? crypto.randomUUID());
        const results = value(await mailbox.patchMessages(ids, { ...marks, folderKey }));
        for (const [at, message] of chosen.entries()) {
          expect(results[at]).toEqual({ id: ids[at], status: message ? change(message) : 'not_found' });
        }
        function change(message: ModelMessage): 'updated' | 'unchanged' {
          const before = JSON.stringify([message.isRead, message.isFlagged, message.folder, message.labels]);
          message.isRead = marks.isRead ?? message.isRead;
          message.isFlagged = marks.isFlagged ?? message.isFlagged;
          message.folder = folderKey ?? message.folder;
          const after = new Set([...(marks.labels ?? message.labels), ...(marks.addLabels ?? [])]);
          for (const label of marks.removeLabels ?? []) after.delete(label);
          message.labels = [...after].sort();
          const now = JSON.stringify([message.isRead, message.isFlagged, message.folder, message.labels]);
          return now === before ? 'unchanged' : 'updated';
        }
      },
  );

const remove = fc.array(fc.option(small, { freq: 12 }), { minLength: 1, maxLength: 6 }).map(
  (which): Operation =>
    async ({ mailbox, model }) => {
      const chosen = which.map((n) => (n === null ? undefined : nth(model.messages, n)));
      const ids = chosen.map((message) => message?.id ?? crypto.randomUUID());
      const results = value(await mailbox.deleteMessages(ids));
      expect(results.map(({ status }) => status)).toEqual(
        chosen.map((message, at) => {
          // If an id is given twice and its first occurrence erases the message, the second occurrence finds nothing.
          const isAgain = message !== undefined && chosen.indexOf(message) < at;
          return message && !(isAgain && message.folder === model.role('trash')) ? 'deleted' : 'not_found';
        }),
      );
      for (const message of new Set(chosen)) {
        if (message?.folder === model.role('trash')) model.erase(message);
        else if (message) message.folder = model.role('trash');
      }
    },
);

/** Copies the ids of folders from the mailbox into the model, by name. */
async function learnFolders({ mailbox, model }: World, names: ReadonlySet<string>): Promise<void> {
  const own = value(await mailbox.listFolders()).filter(({ role }) => role === null);
  expect(new Set(own.map(({ name }) => name))).toEqual(names);
  for (const id of model.own.keys()) if (!own.some(({ folder_id }) => folder_id === id)) model.own.delete(id);
  for (const { folder_id, name } of own) model.own.set(folder_id, name);
}
const withParents = (name: string) => name.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'));

const makeFolder = fc.constantFrom(...OWN).map(
  (name): Operation =>
    async (world) => {
      const names = new Set(world.model.own.values());
      expect((await world.mailbox.createFolder(name)).ok).toBe(!names.has(name));
      await learnFolders(world, new Set([...names, ...withParents(name)]));
    },
);

const renameFolder = fc.tuple(small, fc.constantFrom(...OWN)).map(
  ([n, to]): Operation =>
    async (world) => {
      const [id, from] = nth([...world.model.own], n) ?? [];
      if (id === undefined || from === undefined) return;
      const isUnder = (name: string) => name === from || name.startsWith(`${from}/`);
      const staying = [...world.model.own.values()].filter((name) => !isUnder(name));
      const moved = [...world.model.own.values()].filter(isUnder).map((name) => to + name.slice(from.length));
      const isFree = !to.startsWith(`${from}/`) && moved.every((name) => !staying.includes(name));
      expect((await world.mailbox.renameFolder(id, to)).ok).toBe(isFree);
      if (isFree) await learnFolders(world, new Set([...staying, ...moved, ...withParents(to)]));
    },
);

const removeFolder = small.map(
  (n): Operation =>
    async (world) => {
      const { mailbox, model } = world;
      const [id, from] = nth([...model.own], n) ?? [];
      if (id === undefined || from === undefined) return;
      value(await mailbox.deleteFolder(id));
      const gone = [...model.own]
        .filter(([, name]) => name === from || name.startsWith(`${from}/`))
        .map(([each]) => each);
      for (const each of gone) model.own.delete(each);
      for (const message of model.messages) if (gone.includes(message.folder)) message.folder = model.role('trash');
    },
);

const empty = fc.constantFrom('junk', 'trash').map(
  (role): Operation =>
    async ({ mailbox, model }) => {
      const inside = model.messages.filter((each) => each.folder === model.role(role));
      expect(value(await mailbox.emptyFolder(role))).toBe(inside.length);
      for (const message of inside) model.erase(message);
    },
);

/** Runs the alarm's erasure of expired mail at a time 31 days later. */
const expire = fc.constant<Operation>(async (world) => {
  await atTime(world, Date.now() + 31 * DAY_MS, eraseExpired);
  for (const message of world.model.messages) if (world.model.isHidden(message.folder)) world.model.erase(message);
});

const condition = fc.oneof(
  fc.constantFrom(...WORDS).map((word) => ({ field: 'body', operator: 'contains', value: word }) as const),
  fc.constant({ field: 'has_attachment' } as const),
);
const action = fc.oneof(
  fc.constantFrom('mark_read', 'flag', 'trash', 'stop').map((type) => () => ({ type }) as const),
  fc.constantFrom('a', 'b').map((label) => () => ({ type: 'label', label }) as const),
  small.map((n) => (model: Model) => ({ type: 'move', folder_id: anyFolder(model, n) }) as const),
);
const rule = fc.record({ condition, actions: fc.array(action, { minLength: 1, maxLength: 3 }) });
type Rule = typeof rule extends fc.Arbitrary<infer T> ? T : never;
const toRule = (model: Model, given: Rule): FilterRule => ({
  name: 'a rule',
  enabled: true,
  match: 'all',
  conditions: [given.condition],
  actions: given.actions.map((make) => make(model)),
});

const makeRule = fc.tuple(rule, small).map(
  ([given, at]): Operation =>
    async ({ mailbox, model }) => {
      const [old] = model.rules.length < 3 ? [] : model.rules.splice(at % 3, 1);
      if (old) value(await mailbox.deleteFilter(old.id));
      const place = at % (model.rules.length + 1);
      const made = toRule(model, given);
      const { filterId } = value(await mailbox.insertFilter(made, place));
      model.rules.splice(place, 0, { id: filterId, rule: made });
    },
);

/** Applies a rule to existing mail: received messages that are neither in Junk nor in Trash. */
const applyRule = small.map(
  (n): Operation =>
    async ({ mailbox, model }) => {
      const one = nth(model.rules, n);
      if (!one) return;
      value(await mailbox.applyFilter(one.id, Number.MAX_SAFE_INTEGER));
      for (const message of model.messages) {
        const isOld = message.origin === 'received' || message.origin === 'imported';
        if (isOld && !model.isHidden(message.folder)) model.follow([one.rule], message);
      }
    },
);

/** Rebuilds all derived data from the raw bytes. Nothing may change. */
const rebuild = fc.constant<Operation>(async ({ userId, model }) => {
  const messages = model.messages.filter(({ rawSha256 }) => rawSha256 !== null).length;
  expect(await rebuildMailbox(env, userId)).toEqual({ messages, missing: [] });
});

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  { arbitrary: store, weight: 6 },
  { arbitrary: storeMany, weight: 2 },
  { arbitrary: patch, weight: 5 },
  { arbitrary: remove, weight: 3 },
  ...WRITING,
  ...[makeFolder, renameFolder, removeFolder, empty, expire, makeRule, applyRule, rebuild],
);
