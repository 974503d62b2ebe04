import { DurableObject } from 'cloudflare:workers';

export class Mailbox extends DurableObject<Env> {}
