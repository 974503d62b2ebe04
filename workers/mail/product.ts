/**
 * What the Worker knows of mail. Each user's mailbox is one Durable Object (`durable-objects/mail`). A route calls only the caller's
 * own mailbox, so ids of other users' messages are not found.
 */
import { type Product, READS } from '../shared/product.ts';
import { mailboxObligation } from './accounts/user-obligation.ts';
import { WELL_KNOWN_PATH as CARDDAV_WELL_KNOWN_PATH } from './carddav/places.ts';
import { AUTOCONFIG_HOST, AUTOCONFIG_HOST_PATH, AUTOCONFIG_PATH } from './domain/autoconfig.ts';
import { OAUTH_PATHS } from './domain/oauth-paths.ts';
import { WELL_KNOWN_PATH as JMAP_WELL_KNOWN_PATH } from './jmap/routes/jmap-route.ts';

export const mail = {
  name: 'mail',
  ownPaths: /^\/v1\/(?:carddav|drafts|events|folders|imap|jmap|labels|mcp|me|messages|oauth|search|threads)(?:\/|$)/,
  paths: [JMAP_WELL_KNOWN_PATH, CARDDAV_WELL_KNOWN_PATH, AUTOCONFIG_PATH, ...OAUTH_PATHS],
  hostPaths: [{ host: AUTOCONFIG_HOST, path: AUTOCONFIG_HOST_PATH }],
  operations: [
    { operation: 'mail_out', destination: 'api', methods: ['POST'], path: /^\/v1\/messages$/ },
    {
      operation: 'mail_read',
      destination: 'api',
      methods: READS,
      path: /^\/v1\/(?:messages|threads|folders|search|labels|events|drafts)/,
    },
  ],
  pages: ['mail', 'mail-frame', 'turnstile'],
  objectClasses: ['Mailbox'],
  obligation: mailboxObligation,
  queue: { suffix: '-mail-outbound', owns: () => true },
  events: { suffix: '-mail-events', owns: () => true },
  receiveEmail: async (message, env) => (await import('./inbound/accept/receive-email.ts')).receiveEmail(message, env),
  load: () => import('./api.ts'),
  work: async () => (await import('./work.ts')).work,
} satisfies Product;
