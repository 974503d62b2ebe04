/**
 * The floor: for each thing that is measured, the least a Worker could do with the same bindings and the same round
 * trips, and no logic. A path a measurement.
 */
import { DurableObject } from 'cloudflare:workers';

export class LeaderboardShard extends DurableObject {}
export class LeaderboardSeason extends DurableObject {}
export class Mailbox extends DurableObject {}

const ROUTES = {
  '/health': async (_request, env) => {
    await Promise.all([
      env.DIRECTORY.prepare('SELECT 1').run(),
      env.OBJECTS_0.prepare('SELECT 1').run(),
      env.BLOBS.head('health'),
      env.BLOBS_2.head('health'),
    ]);
    return Response.json({ status: 'ok' });
  },
};

export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname;
    const route = ROUTES[path];
    return route ? route(request, env) : new Response('no such floor', { status: 404 });
  },
};
