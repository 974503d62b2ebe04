/** Attacks on the leaderboard: scores without a right, hostile values, event ids, exports and floods of viewers. */
import { type Attack, parsed, type Reply, send, sendJson } from './attack.ts';
import type { World } from './world.ts';

const post = (world: World, body: unknown, token: string | null = world.tokens.game) =>
  sendJson(world, 'POST', '/v1/scores', token, body);

/** Checks that the attack left no player on the board. */
const leavesNoPlayer =
  (userId: string) =>
  async (_: Reply, world: World): Promise<string | null> => {
    const { status, text } = await sendJson(world, 'GET', `/v1/scores/${encodeURIComponent(userId)}`, null);
    return status === 200 ? `the player is on the board: ${text}` : null;
  };

const POINTS: readonly string[] = [
  '-1',
  '1000001',
  '1e300',
  '-0.5',
  '0.1',
  '1.5',
  '"5"',
  'null',
  'true',
  '[5]',
  '{"$gt":0}',
  '9007199254740993',
  '-9007199254740993',
  '1e7',
];
const PLAYERS: readonly string[] = [
  '',
  'a b',
  'a/b',
  '../scores',
  'a\u0000',
  'a\r\nb',
  'a\u202Eb',
  '\u200B',
  'x'.repeat(65),
  '=cmd()',
  "a'b",
  'a"b',
  '<b>',
  'ä',
];
const NAMES: readonly string[] = [
  '',
  'x'.repeat(65),
  'a\u0000b',
  'a\r\nb',
  'a\u202Eb',
  '\u200B\u200B',
  '\u001b[31mred',
];
const FORMULAS: readonly string[] = [
  '=1+1',
  '+1+1',
  '-1+1',
  '@SUM(A1)',
  '=HYPERLINK("https://evil.test")',
  "=cmd|' /C calc'!A0",
  '＝1+1',
];
const SEASONS: readonly string[] = ['2020-01', '2099-01', '2020-13', 'current', '', '../2020-01'];

const QUERIES: readonly string[] = [
  'limit=0',
  'limit=101',
  'limit=-1',
  'limit=1e9',
  'cursor=AAAA',
  'season=2020-13',
  'season=..',
  `user_ids=${Array.from({ length: 101 }, (_, i) => `u${i}`).join()}`,
  'exact=yes',
  'order=asc',
];

export const LEADERBOARD_ATTACKS: readonly Attack[] = [
  ...(['inbound', 'bridge', 'objects', 'mailApp', 'revoked', 'expired'] as const).map(
    (kind): Attack => ({
      name: `a score posted with the ${kind} token`,
      attempt: (world) => post(world, { user_id: 'cheat', points: 5 }, world.tokens[kind]),
      refusal: [401, 403],
      gotThrough: leavesNoPlayer('cheat'),
    }),
  ),
  {
    name: 'a score posted without a token',
    attempt: (world) => post(world, { user_id: 'cheat', points: 5 }, null),
    refusal: [401],
    gotThrough: leavesNoPlayer('cheat'),
  },
  {
    name: 'a score posted with a session cookie',
    attempt: (world) =>
      send(world, 'POST', '/v1/scores', {
        headers: { cookie: world.victim.cookie, 'content-type': 'application/json' },
        body: '{"user_id":"cheat","points":5}',
      }),
    refusal: [401, 403],
    gotThrough: leavesNoPlayer('cheat'),
  },
  ...POINTS.map(
    (points): Attack => ({
      name: `a score of ${points}`,
      attempt: (world) => post(world, `{"user_id":"cheat","points":${points}}`),
      refusal: [400],
      gotThrough: leavesNoPlayer('cheat'),
    }),
  ),
  ...PLAYERS.map(
    (user_id): Attack => ({
      name: `the player ${JSON.stringify(user_id).slice(0, 20)}`,
      attempt: (world) => post(world, { user_id, points: 5 }),
      refusal: [400],
    }),
  ),
  ...NAMES.map(
    (user_name): Attack => ({
      name: `the display name ${JSON.stringify(user_name).slice(0, 20)}`,
      attempt: (world) => post(world, { user_id: 'cheat', points: 5, user_name }),
      refusal: [400],
      gotThrough: leavesNoPlayer('cheat'),
    }),
  ),
  ...['', 'x'.repeat(129)].map(
    (event_id): Attack => ({
      name: `an event id of ${event_id.length} characters`,
      attempt: (world) => post(world, { user_id: 'cheat', points: 5, event_id }),
      refusal: [400],
    }),
  ),
  ...SEASONS.map(
    (season): Attack => ({
      name: `a new event for the season "${season}"`,
      attempt: (world) => post(world, { user_id: 'cheat', points: 5, event_id: 'late', season }),
      refusal: [400, 404, 409],
    }),
  ),
  {
    name: 'an event repeated to count twice',
    attempt: async (world) => {
      await post(world, { user_id: 'twice', points: 5, event_id: 'e1' });
      return post(world, { user_id: 'twice', points: 5, event_id: 'e1' });
    },
    refusal: [200],
    gotThrough: (reply) => {
      const { duplicate, user_info } = parsed(reply);
      return duplicate === true && user_info.score === 5 ? null : reply.text;
    },
  },
  {
    name: 'an event repeated with more points',
    attempt: async (world) => {
      await post(world, { user_id: 'more', points: 5, event_id: 'e1' });
      return post(world, { user_id: 'more', points: 1_000_000, event_id: 'e1' });
    },
    refusal: [409],
    gotThrough: async (_, world) => {
      const { user_info } = parsed(await sendJson(world, 'GET', '/v1/scores/more?exact=1', null));
      return user_info.score === 5 ? null : `the score is ${user_info.score}`;
    },
  },
  {
    name: 'the same event twenty times at once',
    attempt: async (world) => {
      const all = await Promise.all(
        Array.from({ length: 20 }, () => post(world, { user_id: 'race', points: 5, event_id: 'e1' })),
      );
      return all[0] as Reply;
    },
    refusal: [200],
    gotThrough: async (_, world) => {
      const { user_info } = parsed(await sendJson(world, 'GET', '/v1/scores/race?exact=1', null));
      return user_info.score === 5 ? null : `the score is ${user_info.score}`;
    },
  },
  {
    name: 'a batch beyond its limit',
    attempt: (world) =>
      sendJson(world, 'POST', '/v1/scores/batch', world.tokens.game, {
        updates: Array.from({ length: 1_001 }, () => ({ user_id: 'cheat', points: 5 })),
      }),
    refusal: [400, 413],
    gotThrough: leavesNoPlayer('cheat'),
  },
  {
    name: 'a score with the member score',
    attempt: (world) => post(world, { user_id: 'cheat', points: 5, score: 1e6 }),
    refusal: [400],
    gotThrough: leavesNoPlayer('cheat'),
  },
  {
    name: 'a score with the member __proto__',
    attempt: (world) => post(world, '{"user_id":"cheat","points":5,"__proto__":{"score":9}}'),
    refusal: [400],
    gotThrough: leavesNoPlayer('cheat'),
  },
  {
    name: 'a correction of a score by a game server',
    attempt: (world) => sendJson(world, 'PATCH', '/v1/scores/more', world.tokens.game, { score: 9, reason: 'x' }),
    refusal: [403],
  },
  ...FORMULAS.map(
    (user_name, i): Attack => ({
      name: `the formula ${user_name} in the export of a season`,
      attempt: async (world) => {
        const scored = await post(world, { user_id: `formula${i}`, points: 5, user_name });
        if (scored.status === 400) return scored;
        return sendJson(world, 'GET', `/v1/seasons/${world.ids.season}/export`, world.server.rootToken);
      },
      refusal: [200, 400],
      gotThrough: ({ status, text }) => {
        if (status === 400) return null;
        const line = text.split(/\r?\n/).find((each) => each.includes(`formula${i}`));
        if (line === undefined) return 'the export lacks the player';
        return /(?:^|,)"?[=+\-@＝](?!\d+(?:,|$))/.test(line) ? `the line is ${line}` : null;
      },
    }),
  ),
  ...QUERIES.map(
    (query): Attack => ({
      name: `a list with ${query.slice(0, 20)}`,
      attempt: (world) => send(world, 'GET', `/v1/scores?${query}`),
      refusal: [400],
    }),
  ),
  ...['%00', '..%2f..%2fiam%2fusers', '%0d%0aSet-Cookie:a=b', 'x'.repeat(65)].map(
    (id): Attack => ({
      name: `the player ${id.slice(0, 24)} read by its path`,
      attempt: (world) => send(world, 'GET', `/v1/scores/${id}`),
      refusal: [400, 404],
    }),
  ),
  {
    name: 'a flood of live viewers beyond the limit of a client',
    attempt: async (world) => {
      const sockets: WebSocket[] = [];
      const opened = await Promise.all(
        Array.from(
          { length: 230 },
          () =>
            new Promise<boolean>((resolve) => {
              const socket = new WebSocket(`${world.server.url.replace('http', 'ws')}/v1/scores`);
              sockets.push(socket);
              socket.addEventListener('open', () => resolve(true));
              socket.addEventListener('error', () => resolve(false));
            }),
        ),
      );
      for (const socket of sockets) socket.close();
      const count = opened.filter(Boolean).length;
      return { status: count <= 200 ? 429 : 101, text: `${count} viewers`, headers: {} };
    },
    refusal: [429],
  },
];
