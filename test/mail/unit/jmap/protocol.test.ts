import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { applyPatch } from '../../../../workers/mail/jmap/domain/patch.ts';
import { takeWindow } from '../../../../workers/mail/jmap/domain/query-window.ts';
import { resolveReferences } from '../../../../workers/mail/jmap/domain/result-references.ts';
import { parseRequest } from '../../../../workers/mail/jmap/protocol/request.ts';
import { RunningRequests } from '../../../../workers/mail/jmap/protocol/running-requests.ts';
import { OverBudgetError, RequestBudget } from '../../../../workers/shared/pure/request-budget.ts';

const CORE = 'urn:ietf:params:jmap:core';
const parse = (body: unknown, type = 'application/json') =>
  parseRequest(type, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
const errorOf = (body: unknown, type?: string) => {
  const read = parse(body, type);
  return read.ok ? null : read.error.type;
};

describe('a request', () => {
  it('is accepted with its calls and created ids', () => {
    const request = { using: [CORE], methodCalls: [['Core/echo', { a: 1 }, 'c']], createdIds: { k: 'x' } };
    expect(parse(request)).toEqual({ ok: true, value: request });
    expect(parse({ using: [], methodCalls: [] })).toMatchObject({ ok: true, value: { createdIds: null } });
  });

  it('is refused with the type of the error', () => {
    expect(errorOf('{"a":')).toBe('notJSON');
    expect(errorOf({ using: [CORE], methodCalls: [] }, 'text/plain')).toBe('notJSON');
    expect(parse('"\u00e9"', 'application/json').ok).toBe(false);
    expect(parseRequest('application/json', Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({
      error: { type: 'notJSON' },
    });
    expect(errorOf({ foo: 'bar' })).toBe('notRequest');
    expect(errorOf([])).toBe('notRequest');
    expect(errorOf({ using: [CORE], methodCalls: [['Core/echo', {}]] })).toBe('notRequest');
    expect(errorOf({ using: [CORE, 'urn:x'], methodCalls: [] })).toBe('unknownCapability');
    const calls = Array.from({ length: 33 }, () => ['Core/echo', {}, 'c']);
    expect(errorOf({ using: [CORE], methodCalls: calls })).toBe('limit');
  });
});

describe('a result reference', () => {
  const answers = [
    { name: 'Foo/changes', callId: 't0', args: { created: ['f1', 'f4'], updated: [], 'a/b~c': [7] } },
    {
      name: 'Foo/get',
      callId: 't1',
      args: {
        list: [
          { id: 'f1', ids: ['x', 'y'] },
          { id: 'f4', ids: ['z'] },
        ],
      },
    },
  ];
  const source = (bytes = 1_000) => ({ answers, referencesMax: 2, budget: new RequestBudget(bytes) });
  const resolve = (path: string, name = 'Foo/get', resultOf = 't1') =>
    resolveReferences({ '#ids': { resultOf, name, path } }, source());

  it('is replaced by the value it points to', () => {
    expect(resolve('/created', 'Foo/changes', 't0')).toEqual({ ok: true, value: { ids: ['f1', 'f4'] } });
    expect(resolve('/list/*/id')).toEqual({ ok: true, value: { ids: ['f1', 'f4'] } });
    expect(resolve('/list/*/ids')).toEqual({ ok: true, value: { ids: ['x', 'y', 'z'] } });
    expect(resolve('/list/1/id')).toEqual({ ok: true, value: { ids: 'f4' } });
    expect(resolve('/a~1b~0c/0', 'Foo/changes', 't0')).toEqual({ ok: true, value: { ids: 7 } });
  });

  it('that leads nowhere is an error', () => {
    for (const path of ['/nothing', '/list/9/id', '/list/*/nothing', 'list', '/list/-', '/list/01'])
      expect(resolve(path)).toMatchObject({ ok: false, error: { type: 'invalidResultReference' } });
    expect(resolve('/list', 'Foo/set')).toMatchObject({ error: { type: 'invalidResultReference' } });
    expect(resolve('/list', 'Foo/get', 't9')).toMatchObject({ error: { type: 'invalidResultReference' } });
    expect(resolveReferences({ '#ids': null }, source())).toMatchObject({ error: { type: 'invalidResultReference' } });
    const both = { ids: [], '#ids': { resultOf: 't1', name: 'Foo/get', path: '/list' } };
    expect(resolveReferences(both, source())).toMatchObject({ error: { type: 'invalidArguments' } });
  });
});

describe('the budget of a request', () => {
  const answers = [
    { name: 'Core/echo', callId: 'a', args: { x: 'abcd', list: [{ y: ['z'] }, { y: [] }], none: [[], [], []] } },
  ];
  const resolve = (path: string, bytes: number) => {
    const budget = new RequestBudget(bytes);
    const reference = { resultOf: 'a', name: 'Core/echo', path };
    const found = resolveReferences({ '#v': reference }, { answers, referencesMax: 1, budget });
    return [found, budget.leftBytes];
  };

  it('counts each value that a reference brings, before it is collected', () => {
    expect(resolve('/x', 6)).toEqual([{ ok: true, value: { v: 'abcd' } }, 0]);
    expect(() => resolve('/x', 5)).toThrow(OverBudgetError);
    expect(resolve('/list/*/y', 9)).toEqual([{ ok: true, value: { v: ['z'] } }, 0]);
    expect(() => resolve('/list/*/y', 8)).toThrow(OverBudgetError);
    // An empty list brings nothing, but it is visited.
    expect(resolve('/none/*/*', 3)).toEqual([{ ok: true, value: { v: [] } }, 0]);
    expect(() => resolve('/none/*/*', 2)).toThrow(OverBudgetError);
  });

  it('limits the references of a call and the length of a path', () => {
    const reference = { resultOf: 'a', name: 'Core/echo', path: '/x' };
    const budget = new RequestBudget(1_000);
    const two = resolveReferences({ '#a': reference, '#b': reference }, { answers, referencesMax: 1, budget });
    expect(two).toMatchObject({ error: { type: 'invalidResultReference' } });
    expect(resolve('/x'.repeat(501), 1_000)).toMatchObject([{ error: { type: 'invalidResultReference' } }, 1_000]);
  });

  it('limits depth and values of the JSON, and the length of a call id', () => {
    const nest = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const withArgument = (text: string, callId = 'c') =>
      `{"using":["${CORE}"],"methodCalls":[["Core/echo",{"a":${text}},"${callId}"]]}`;
    expect(errorOf(withArgument(nest(60)))).toBeNull();
    for (const levels of [61, 200_000]) expect(errorOf(withArgument(nest(levels)))).toBe('notJSON');
    expect(errorOf(withArgument(`[${'1,'.repeat(199_980)}1]`))).toBeNull();
    expect(parse(withArgument(`[${'1,'.repeat(200_000)}1]`))).toMatchObject({
      error: { type: 'limit', limit: 'maxSizeRequest', status: 400 },
    });
    expect(errorOf(withArgument('1', 'c'.repeat(255)))).toBeNull();
    expect(errorOf(withArgument('1', 'c'.repeat(256)))).toBe('notRequest');
  });
});

describe('a window of a query', () => {
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const take = (request: object) =>
    takeWindow(ids, { position: 0, anchor: null, anchorOffset: 0, limit: 2, ...request });

  it('begins at a position, at the end if it is negative', () => {
    expect(take({})).toEqual({ position: 0, ids: ['a', 'b'] });
    expect(take({ position: 3 })).toEqual({ position: 3, ids: ['d', 'e'] });
    expect(take({ position: -1 })).toEqual({ position: 4, ids: ['e'] });
    expect(take({ position: -2 })).toEqual({ position: 3, ids: ['d', 'e'] });
    expect(take({ position: -9 })).toEqual({ position: 0, ids: ['a', 'b'] });
    expect(take({ position: 9 })).toEqual({ position: 9, ids: [] });
  });

  it('begins near an anchor', () => {
    expect(take({ anchor: 'c' })).toEqual({ position: 2, ids: ['c', 'd'] });
    expect(take({ anchor: 'a', position: 3 })).toEqual({ position: 0, ids: ['a', 'b'] });
    expect(take({ anchor: 'c', anchorOffset: -1 })).toEqual({ position: 1, ids: ['b', 'c'] });
    expect(take({ anchor: 'b', anchorOffset: -5 })).toEqual({ position: 0, ids: ['a', 'b'] });
    expect(take({ anchor: 'z' })).toBeNull();
  });
});

describe('a patch', () => {
  it('sets and removes members by their path', () => {
    const object = { name: 'a', keywords: { x: true, 'a/b': true }, list: [1] };
    expect(applyPatch(object, { name: 'b', 'keywords/x': null, 'keywords/y': true, 'keywords/a~1b': null })).toEqual({
      name: 'b',
      keywords: { y: true },
      list: [1],
    });
    expect(object.keywords).toEqual({ x: true, 'a/b': true });
  });

  it('is invalid if a path leads nowhere, into a list, or over another', () => {
    const object = { keywords: { x: true }, list: [1] };
    expect(applyPatch(object, { 'no/such': 1 })).toBeNull();
    expect(applyPatch(object, { 'list/0': 1 })).toBeNull();
    expect(applyPatch(object, { keywords: {}, 'keywords/x': null })).toBeNull();
  });
});

describe('the requests of a user that run at once', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are limited, until they end or their client has gone', async () => {
    const running = new RunningRequests(2);
    const first = running.begin('ann');
    // A request that died beats no more.
    const { setInterval } = globalThis;
    globalThis.setInterval = (() => 0) as never;
    expect(running.begin('ann')).not.toBeNull();
    globalThis.setInterval = setInterval;
    expect(running.begin('ann')).toBeNull();
    expect(running.begin('bob')).not.toBeNull();
    first?.end();
    expect(running.begin('ann')).not.toBeNull();
    expect(running.begin('ann')).toBeNull();
    await vi.advanceTimersByTimeAsync(2_500);
    expect(running.begin('ann')).not.toBeNull();
    expect(running.begin('ann')).toBeNull();
  });

  it('work two at a time in their order, and those of another user beside them', async () => {
    const running = new RunningRequests(10, 2);
    const working: string[] = [];
    const start = (userId: string, name: string) => {
      const turn = running.begin(userId);
      void turn?.wait().then(() => working.push(name));
      return turn;
    };
    const turns = ['a1', 'a2', 'a3', 'a4'].map((name) => start('ann', name));
    start('bob', 'b1');
    await vi.advanceTimersByTimeAsync(50);
    expect(working).toEqual(['a1', 'a2', 'b1']);
    turns[1]?.end();
    await vi.advanceTimersByTimeAsync(50);
    expect(working).toEqual(['a1', 'a2', 'b1', 'a3']);
    turns[0]?.end();
    turns[2]?.end();
    await vi.advanceTimersByTimeAsync(50);
    expect(working).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  });
});
