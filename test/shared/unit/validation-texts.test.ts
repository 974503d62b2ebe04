import { expect, test } from 'vitest';
import { z } from 'zod';
import { toValidationProblem } from '../../../workers/shared/json/json-api.ts';

/** The error of each member that a schema refuses, as clients read it. */
function explain(schema: z.ZodType, value: unknown): Record<string, string> {
  const { error } = schema.safeParse(value);
  const errors = error === undefined ? [] : (toValidationProblem(error).errors ?? []);
  return Object.fromEntries(errors.map(({ path, message }) => [path, message]));
}

const board = z.strictObject({
  title: z.string().min(1).max(3),
  sort: z.enum(['asc', 'desc']),
  points: z.int().min(0).max(1_000_000),
  is_public: z.boolean(),
  tags: z.array(z.string()).min(1).max(2),
});

test('a member that is missing is required, whatever its type', () => {
  expect(explain(board, {})).toEqual({
    title: 'required',
    sort: 'required',
    points: 'required',
    is_public: 'required',
    tags: 'required',
  });
  const kinds = z.discriminatedUnion('type', [z.strictObject({ type: z.literal('trash') })]);
  expect(explain(z.strictObject({ action: kinds, either: z.union([z.string(), z.int()]) }), {})).toEqual({
    action: 'required',
    either: 'required',
  });
  expect(explain(kinds, {})).toEqual({ type: 'required' });
  expect(explain(kinds, { type: 'fold' })).toEqual({ type: 'must be "trash"' });
});

test('an error completes the name of its member, in words of JSON', () => {
  expect(explain(board, { title: '', sort: 'up', points: -1, is_public: 'yes', tags: [] })).toEqual({
    title: 'must have at least 1 character',
    sort: 'must be one of "asc", "desc"',
    points: 'must be at least 0',
    is_public: 'must be true or false',
    tags: 'must have at least 1 entry',
  });
  expect(explain(board, { title: 'long', sort: 1, points: 2e6, is_public: null, tags: ['a', 'b', 'c'] })).toEqual({
    title: 'must have at most 3 characters',
    sort: 'must be one of "asc", "desc"',
    points: 'must be at most 1000000',
    is_public: 'must be true or false',
    tags: 'must have at most 2 entries',
  });
  expect(explain(board, { title: 4, sort: 'asc', points: 1.5, is_public: true, tags: 'a' })).toEqual({
    title: 'must be a string',
    points: 'must be a whole number',
    tags: 'must be an array',
  });
});

test('a format is named, and no pattern is shown', () => {
  const formats = z.strictObject({
    email: z.email(),
    id: z.uuid(),
    at: z.iso.datetime(),
    name: z.string().regex(/^[a-z]+$/),
    mine: z.string().regex(/^[a-z]+$/, 'must be small letters'),
    limit: z.coerce.number().int().max(5),
  });
  const bad = { email: 'x', id: 'x', at: 'x', name: 'X', mine: 'X', limit: 'x' };
  expect(explain(formats, bad)).toEqual({
    email: 'must be a mail address',
    id: 'must be a UUID',
    at: 'must be a time such as 2026-11-05T09:30:00Z',
    name: 'does not have the documented form',
    mine: 'must be small letters',
    limit: 'must be a number',
  });
});

test('unknown members and other values keep the style', () => {
  expect(explain(z.strictObject({ a: z.null() }), { a: 1, b: 2 })).toEqual({ a: 'must be null', b: 'unknown member' });
  expect(explain(z.union([z.string(), z.int()]), [])).toEqual({ '': 'does not have the documented form' });
  expect(explain(z.record(z.string(), z.int()), { a: 'x' })).toEqual({ a: 'must be a number' });
  expect(explain(z.int().multipleOf(5), 3)).toEqual({ '': 'must be a multiple of 5' });
});
