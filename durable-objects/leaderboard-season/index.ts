import { DurableObject } from 'cloudflare:workers';

export class LeaderboardSeason extends DurableObject<Env> {}
