/**
 * Attacks on a running server, in tables under `attacks/`. They are written from the specification, as an attacker reads it, not
 * from the code. Each attack is one test. The message of a failed test says what the attack achieved.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, SECRET } from './attacks/attack.ts';
import { AUTHORITY_ATTACKS } from './attacks/authority.ts';
import { BUDGET_ATTACKS } from './attacks/budgets.ts';
import { CONTROLS } from './attacks/controls.ts';
import { HOST_ATTACKS } from './attacks/hosts.ts';
import { JSON_BODY_ATTACKS } from './attacks/json-bodies.ts';
import { findMissingRoutes, ROUTE_ATTACKS } from './attacks/json-routes.ts';
import { LEADERBOARD_ATTACKS } from './attacks/leaderboard.ts';
import { MAIL_ATTACKS } from './attacks/mail.ts';
import { MAIL_HTML_ATTACKS } from './attacks/mail-html.ts';
import { OPERATOR_ATTACKS } from './attacks/operators.ts';
import { ACCESS_ATTACKS } from './attacks/s3-access.ts';
import { FORM_ATTACKS } from './attacks/s3-forms.ts';
import { POLICY_ATTACKS } from './attacks/s3-policies.ts';
import { SIGNATURE_ATTACKS } from './attacks/s3-signatures.ts';
import { SESSION_ATTACKS } from './attacks/sessions.ts';
import { WEB_ATTACKS } from './attacks/web.ts';
import { createWorld, type World } from './attacks/world.ts';

const GROUPS: readonly (readonly [string, readonly Attack[]])[] = [
  ['signatures of S3 requests', SIGNATURE_ATTACKS],
  ['access to objects', ACCESS_ATTACKS],
  ['policies of buckets', POLICY_ATTACKS],
  ['upload forms and chunks', FORM_ATTACKS],
  ['routes of the JSON APIs', ROUTE_ATTACKS],
  ['bodies of JSON requests', JSON_BODY_ATTACKS],
  ['sessions and logins', SESSION_ATTACKS],
  ['mail', MAIL_ATTACKS],
  ['HTML of mail', MAIL_HTML_ATTACKS],
  ['the leaderboard', LEADERBOARD_ATTACKS],
  ['roles of operators', OPERATOR_ATTACKS],
  ['the web', WEB_ATTACKS],
  ['rights that end', AUTHORITY_ATTACKS],
  ['budgets of requests', BUDGET_ATTACKS],
];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world?.server[Symbol.asyncDispose]());

async function expectRefusal(attack: Attack): Promise<void> {
  const reply = await attack.attempt(world);
  const start = reply.text.slice(0, 300);
  expect(attack.refusal, `got through with ${reply.status}: ${start}`).toContain(reply.status);
  const whole = reply.text + JSON.stringify(reply.headers);
  if (!attack.isByOwner) expect(whole.includes(SECRET), `leaked the secret: ${start}`).toBe(false);
  expect((await attack.gotThrough?.(reply, world)) ?? null, 'what got through').toBeNull();
}

/** Adds one test per attack. `it.each` would shorten the names. */
function addTests(attacks: readonly Attack[]): void {
  for (const attack of attacks) it(attack.name, () => expectRefusal(attack));
}

it('has at least 200 attacks besides those made from the routes, each with its own name', () => {
  const all = [...GROUPS.flatMap(([, attacks]) => attacks), ...HOST_ATTACKS];
  expect(all.length - ROUTE_ATTACKS.length).toBeGreaterThanOrEqual(200);
  for (const [group, attacks] of GROUPS) {
    const names = attacks.map(({ name }) => name);
    expect([group, names.filter((name, i) => names.indexOf(name) !== i)]).toEqual([group, []]);
  }
});

it('makes attacks on every route that the running server declares', async () => {
  expect(await findMissingRoutes(world)).toEqual([]);
});

describe('a legitimate request that resembles attacks succeeds', () => {
  for (const { name, attempt, accepted } of CONTROLS) {
    it(name, async () => {
      const { status, text } = await attempt(world);
      expect([status, status === accepted ? '' : text]).toEqual([accepted, '']);
    });
  }
});

for (const [group, attacks] of GROUPS) describe(group, () => addTests(attacks));

describe('separate hosts for the app and for storage', () => {
  beforeAll(async () => {
    await world.server.stop();
    await world.server.start({ APP_HOST: 'app.local', S3_HOST: 's3.local' });
  });
  addTests(HOST_ATTACKS);
});
