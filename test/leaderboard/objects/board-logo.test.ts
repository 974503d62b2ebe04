/** Tests logos of boards: operators set one, and readers get it unchanged, under a path that contains a hash of its content. */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { forgetBoard } from '../../../workers/leaderboard/boards/boards.ts';
import { requestApi } from '../../support/json-api.ts';

/** A red pixel. */
const PNG = new Uint8Array(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
    'base64',
  ),
);
const ROOT = { authorization: 'Bearer root-of-tests' };

async function call(method: string, path: string, body?: BodyInit, headers: Record<string, string> = ROOT) {
  const ctx = createExecutionContext();
  const response = await requestApi(env, path, { method, headers, ...(body === undefined ? {} : { body }) }, ctx);
  const bytes = new Uint8Array(await response.arrayBuffer());
  await waitOnExecutionContext(ctx);
  const text = new TextDecoder().decode(bytes);
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, bytes, body: isJson ? JSON.parse(text) : null };
}
async function makeBoard(isPublic = true): Promise<string> {
  const board = `logo-${crypto.randomUUID().slice(0, 8)}`;
  const rules = { title: 'With a logo', sort: 'desc', operator: 'sum', period: 'day', public: isPublic };
  const headers = { ...ROOT, 'content-type': 'application/json' };
  expect((await call('PUT', `/v1/boards/${board}`, JSON.stringify(rules), headers)).status).toBe(200);
  return board;
}
const put = (board: string, image: BodyInit) => call('PUT', `/v1/boards/${board}/logo`, image);

describe('the logo of a board', () => {
  it('is served unchanged, cacheable for a year, with headers that let browsers use it as a picture only', async () => {
    const board = await makeBoard();
    expect((await call('GET', `/v1/boards/${board}`)).body.logo).toBeNull();
    const { status, body } = await put(board, PNG);
    expect([status, body.logo]).toEqual([200, expect.stringMatching(`^/v1/boards/${board}/logo/[0-9a-f]{16}$`)]);
    expect((await call('GET', `/v1/boards/${board}`)).body.logo).toBe(body.logo);
    const listed = (await call('GET', '/v1/boards?limit=200', undefined, {})).body.data;
    expect(listed.find((one: { board: string }) => one.board === board).logo).toBe(body.logo);
    const picture = await call('GET', body.logo, undefined, {});
    expect(picture.status).toBe(200);
    expect(picture.bytes).toEqual(PNG);
    expect(Object.fromEntries(picture.headers)).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    expect(picture.headers.has('set-cookie')).toBe(false);
    const rules = { title: 'Renamed', sort: 'desc', operator: 'sum', period: 'day', public: true };
    const headers = { ...ROOT, 'content-type': 'application/json' };
    expect((await call('PUT', `/v1/boards/${board}`, JSON.stringify(rules), headers)).body.logo).toBe(body.logo);
  });

  it('is PNG or WebP of at most 64 KB by its bytes, whatever the client says', async () => {
    const board = await makeBoard();
    const svg = await put(board, '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    expect([svg.status, svg.body.code]).toEqual([400, 'bad_logo']);
    const large = await put(board, new Uint8Array(65_537));
    expect([large.status, large.body.code]).toEqual([413, 'too_large']);
    expect((await call('GET', `/v1/boards/${board}`)).body.logo).toBeNull();
  });

  it('is set and removed by operators only, and both are in the audit log', async () => {
    const board = await makeBoard();
    const path = `/v1/boards/${board}/logo`;
    expect((await call('PUT', path, PNG, {})).status).toBe(401);
    expect((await call('DELETE', path, undefined, {})).status).toBe(401);
    const { logo } = (await put(board, PNG)).body;
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', logo, undefined, {})).body.code).toBe('no_logo');
    expect((await call('GET', `/v1/boards/${board}`)).body.logo).toBeNull();
    const { data } = (await call('GET', `/v1/audit?target=${board}`)).body;
    expect(data.map((entry: { action: string }) => entry.action)).toEqual([
      'board_logo.delete',
      'board_logo.set',
      'board.put',
    ]);
    expect((await put('never-made', PNG)).body.code).toBe('unknown_board');
  });

  it('of `default` is set, kept when its title changes, and removed', async () => {
    const read = async () => (await call('GET', '/v1/boards/default', undefined, {})).body;
    const { status, body } = await put('default', PNG);
    expect([status, body.logo]).toEqual([200, expect.stringMatching('^/v1/boards/default/logo/[0-9a-f]{16}$')]);
    expect((await call('GET', body.logo, undefined, {})).bytes).toEqual(PNG);
    const headers = { ...ROOT, 'content-type': 'application/json' };
    const { title } = await read();
    const named = await call('PUT', '/v1/boards/default', JSON.stringify({ title: 'With a logo' }), headers);
    expect(named.body).toMatchObject({ title: 'With a logo', logo: body.logo });
    expect(await read()).toEqual(named.body);
    expect((await call('DELETE', '/v1/boards/default/logo')).status).toBe(204);
    expect(await read()).toMatchObject({ title: 'With a logo', logo: null });
    await call('PUT', '/v1/boards/default', JSON.stringify({ title }), headers);
  });

  it('of a board that is not public is only for its readers, and goes with the board', async () => {
    const board = await makeBoard(false);
    const { logo } = (await put(board, PNG)).body;
    expect((await call('GET', logo, undefined, {})).status).toBe(401);
    expect((await call('GET', logo)).headers.get('cache-control')).toMatch(/^private,/);
    expect((await call('DELETE', `/v1/boards/${board}`)).status).toBe(204);
    forgetBoard(board);
    const left = await env.DIRECTORY.prepare('SELECT count(*) AS logos FROM board_logo WHERE board = ?1');
    expect(await left.bind(board).first('logos')).toBe(0);
  });
});
