import { DurableObject } from 'cloudflare:workers';

export class LeaderboardShard extends DurableObject<Env> {}
