/** Routes of the logo of a board: operators set it, and readers of the board see it. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  rawBody,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { readLimited } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { DEFAULT_BOARD, findBoard, forgetBoard, toDefaultRow } from '../boards/boards.ts';
import { boardNameSchema, boardParamsSchema, logoPath } from '../contract.ts';
import { LOGO_BYTES_MAX, readLogoType } from '../domain/board-logo.ts';
import { createBoardStore } from '../records/board-store.ts';
import { createLogoStore } from '../records/logo-store.ts';
import { OPERATOR, PUBLIC } from './callers.ts';
import { toProblem } from './errors.ts';

const logoSchema = z
  .object({ logo: z.string().openapi({ example: '/v1/boards/races/logo/3f9c2d1e5b7a4860' }) })
  .openapi('BoardLogo');

const ROUTE = { ...OPERATOR, path: '/v1/boards/{board}/logo' as const };

export function addLogos(api: OpenAPIHono<JsonApiEnv>): void {
  const put = createRoute({
    ...ROUTE,
    method: 'put',
    operationId: 'putBoardLogo',
    summary: 'Set the logo of a board: a PNG or WebP of at most 64 KB and 1024 by 1024 pixels',
    request: { params: boardParamsSchema, ...rawBody('image/png', 'image/webp') },
    responses: { 200: jsonContent(logoSchema, 'Its path'), ...problemResponses(400, 401, 403, 404, 413) },
  });
  api.openapi(put, async (c) => {
    const { board } = c.req.valid('param');
    const found = await findBoard(c.env, board);
    if (found === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board }));
    const image = await readLimited(c.req.raw.body, LOGO_BYTES_MAX);
    if (image.length > LOGO_BYTES_MAX)
      return sendProblem(c, problem(413, 'too_large', `A logo has at most ${LOGO_BYTES_MAX} bytes.`));
    const type = readLogoType(image);
    if (type === null) return sendProblem(c, toProblem({ kind: 'bad_logo' }));
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', image))
      .toString('hex')
      .slice(0, 16);
    const store = createBoardStore(c.env.DIRECTORY);
    if (board === DEFAULT_BOARD.board) await store.add(toDefaultRow(found.title, {}, createClock(c.env)()));
    await createLogoStore(c.env.DIRECTORY).putLogo({ board, hash, type, image });
    forgetBoard(board);
    await recordAudit(c, 'board_logo.set', { type: 'board', id: board }, { hash });
    return c.json({ logo: logoPath(board, hash) }, 200);
  });

  const remove = createRoute({
    ...ROUTE,
    method: 'delete',
    operationId: 'deleteBoardLogo',
    summary: 'Remove the logo of a board',
    request: { params: boardParamsSchema },
    responses: { 204: { description: 'Removed, or there was none' }, ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(remove, async (c) => {
    const { board } = c.req.valid('param');
    if ((await findBoard(c.env, board)) === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board }));
    await createLogoStore(c.env.DIRECTORY).removeLogo(board);
    forgetBoard(board);
    await recordAudit(c, 'board_logo.delete', { type: 'board', id: board });
    return c.body(null, 204);
  });

  const get = createRoute({
    ...PUBLIC,
    method: 'get',
    path: '/v1/boards/{board}/logo/{hash}',
    operationId: 'getBoardLogo',
    summary: 'The logo of a board, at the path that the board has. It never changes',
    request: {
      params: z.object({
        board: boardNameSchema,
        hash: z
          .string()
          .regex(/^[0-9a-f]{16}$/)
          .openapi({ example: '3f9c2d1e5b7a4860' }),
      }),
    },
    responses: {
      200: {
        description: 'The picture',
        content: { 'image/png': { schema: { type: 'string', format: 'binary' } } },
      },
      ...problemResponses(400, 401, 403, 404),
    },
  });
  api.openapi(get, async (c) => {
    const { board, hash } = c.req.valid('param');
    const found = await findBoard(c.env, board);
    const logo = found && (await createLogoStore(c.env.DIRECTORY).findLogo(board, hash));
    if (!found || !logo) return sendProblem(c, toProblem({ kind: 'no_logo', board }));
    return unchecked(
      new Response(new Uint8Array(logo.image), {
        headers: {
          'content-type': logo.type,
          'cache-control': `${found.isPublic ? 'public' : 'private'}, max-age=31536000, immutable`,
          'content-security-policy': "default-src 'none'; sandbox",
          'x-content-type-options': 'nosniff',
        },
      }),
    );
  });
}
