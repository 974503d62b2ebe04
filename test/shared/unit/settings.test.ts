import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unstable_readConfig } from 'wrangler';
import { toConfigurationPage } from '../../../dev/generate/configuration-page.ts';
import { parseTransport, withCredentials } from '../../../workers/mail/domain/transport-url.ts';
import { settingFacts } from '../../../workers/shared/settings/setting-types.ts';
import { findTypingErrors, MisconfiguredError, parseSettings } from '../../../workers/shared/settings/settings.ts';
import { settingsSchema } from '../../../workers/shared/settings/settings-schema.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SECRETS = { ROOT_TOKEN: 'root-of-tests', MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
const config = unstable_readConfig({ config: join(ROOT, 'wrangler.toml') });
const parse = (values: Record<string, unknown>) => parseSettings({ ...SECRETS, ...values });
const facts = Object.entries(settingsSchema.shape).map(([name, setting]) => ({
  name,
  facts: settingFacts.get(setting),
}));
const namesOf = (isSecret: boolean) => facts.filter((one) => one.facts?.isSecret === isSecret).map(({ name }) => name);

/** Values that are not allowed, for each setting. */
const BAD: Record<string, readonly string[]> = {
  LOCAL: ['true', '0'],
  PRODUCTS: ['files', 'storage;mail', 'storage,,mail'],
  ANALYTICS_TOKEN: ['two words'],
  ANALYTICS_URL: ['api.cloudflare.com', 'ftp://api.example/'],
  ANALYTICS_DATASET: ['tessera-counters', 'a; DROP TABLE b', '1st'],
  COST_ALARM_DOLLARS: ['-1', '5.50', '$5'],
  CLOCK_OFFSET_SECONDS: ['1h', '0.5', '1e99'],
  APP_HOST: ['https://a.example', 'a.example:8787', 'a b', '-a.example'],
  JURISDICTION: ['EU', 'fedramp'],
  S3_HOST: ['s3.example/x', '*.example'],
  ROOT_TOKEN: ['two words'],
  MASTER_KEY: ['short', Buffer.alloc(31).toString('base64'), '!'.repeat(44)],
  MASTER_KEY_PREVIOUS: [Buffer.alloc(33).toString('base64')],
  REGISTRATION: ['Open', 'yes'],
  TURNSTILE_SITE_KEY: ['two words', '<script>'],
  TURNSTILE_SECRET: ['two words'],
  TURNSTILE_VERIFY_URL: ['http://192.0.2.1/', 'https://turnstile.example/', 'http://localhost.example/'],
  RAW_TARGET_HEADER: ['x raw', 'x:raw'],
  MAX_BUCKETS_PER_USER: ['0', '-1', '1k', '1.5', '0x10', '1e3', 'NaN', 'Infinity'],
  LOG_SAMPLE_PERCENT: ['-1', '101', 'all'],
  WRITE_QUORUM: ['0', '1', '17', 'all', '2.5'],
  SMALL_COPIES: ['always', '1', 'on'],
  LOCATION_REGIONS: ['europe', 'weur;enam', 'weur,'],
  SCRUB_DAYS: ['0', '366', 'thirty'],
  EDGE_CACHE_SECONDS: ['-1', '86401', 'a day'],
  LIFECYCLE_DAY_SECONDS: ['0', '86401', 'a day'],
  ALLOW_SIGV2: ['1', 'no', 'TRUE'],
  LEADERBOARD_SHARDS: ['0', '257', 'many', '3.5'],
  LEADERBOARD_BOARDS: ['0', '10000001', 'all'],
  LEADERBOARD_LOCATION: ['europe', 'WEUR', 'weur,eeur'],
  MAIL_DOMAINS: ['example.test;example.org', 'a b', '@example.test'],
  MAIL_HOSTNAME: ['smtp://mail.example'],
  MAIL_BRIDGE_HOST: ['smtp://mail.example'],
  POSTMASTER_ADDRESS: ['ann', 'ann@', 'a n@example.test'],
  PERSONAL_ATTACHMENT_BYTES: ['25MB', '-1', '0'],
  PERSONAL_QUOTA_BYTES: ['5G'],
  BUSINESS_ATTACHMENT_BYTES: ['999999999999'],
  BUSINESS_QUOTA_BYTES: ['-5'],
  MAIL_TRANSPORT: [
    'email',
    'relay.example:587',
    'smtp://user:secret@relay.example:587',
    'smtp://user@relay.example',
    'smtp://relay.example:25',
    'smtp://relay.example:99999',
    'smtp://relay.example?tls=maybe',
    'https://relay.example',
    'smtps://smtp.mx.cloudflare.net:465',
    'smtp://SMTP.mx.cloudflare.net?tls=required',
  ],
  CLOUDFLARE_MAIL_TOKEN: ['two words'],
  MAIL_API_URL: ['api.cloudflare.com'],
  MAIL_TRANSPORT_USER: ['u'.repeat(256)],
  MAIL_TRANSPORT_PASSWORD: ['p'.repeat(256)],
  MAX_MASKED_ADDRESSES_PER_ACCOUNT: ['-1', '10001', '1.5'],
  SEND_LIMIT_PER_HOUR: ['1k', '-1'],
  SEND_LIMIT_FIRST_DAY: ['few', '-1'],
  SEND_LIMIT_FIRST_WEEK: ['1.5', '-1'],
  DOMAIN_SEND_LIMIT_PER_HOUR: ['10k', '-1'],
  AUTOMATIC_LIMIT_PER_HOUR: ['0', '-1'],
  MAIL_OUT_PER_MONTH: ['100k', '-1'],
  MAIL_RECIPIENTS_MAX: ['fifty', '0'],
  MAIL_HOLD_SECONDS: ['1m', '-1'],
  MAIL_RETRY_SECONDS: ['0', 'soon'],
  REQUESTS_PER_USER: ['0', '1k'],
  SCORE_POSTS_PER_TOKEN: ['0', '1m'],
  REQUESTS_PER_CLIENT: ['0', '-1'],
  REQUESTS_PER_ACCESS_KEY: ['0', '1.5'],
  REQUESTS_PER_BUCKET: ['0', 'all'],
  PLAYS_PER_CLIENT: ['0', 'all'],
  PLAYS_PER_PLAYER: ['0', '1.5'],
  LIVE_VIEWERS_PER_CLIENT: ['0', '99999'],
  OWN_ACCESS_KEYS: ['maybe'],
  WEBSITE_SCRIPTS: ['apart'],
  MAIL_LEASE_SECONDS: ['-5', '0'],
  MAIL_LEDGER_SECONDS: ['0', 'daily'],
  SMTP_TIMEOUT_SECONDS: ['0', '5s'],
  MAIL_CONSUMERS: ['0', '251', 'many'],
  MAIL_HINTS: ['gone'],
  IMAP_STAND_IN: ['localhost', 'localhost:993'],
  DNS_OVER_HTTPS_URL: ['1.1.1.1', 'ftp://dns.example', 'https://user:secret@dns.example/'],
  ARC_TRUSTED_SEALERS: ['a..b', 'list example'],
  RSPAMD_URL: ['rspamd:11333', 'http://user:secret@rspamd:11333'],
  RSPAMD_PASSWORD: ['two words'],
  CLAMD_ADDRESS: ['tcp:\\\\clamd', 'clamd:99999', 'clamd:'],
  SCANNER_TIMEOUT_SECONDS: ['-1', '1m'],
  S3_LOCATION: ['some-name', 's3://B', 's3://bucket/a b', 'https://bucket'],
  S3_LOCATION_DELETE_DAYS: ['0', '-1', '3651'],
  S3_LOCATION_ENDPOINT: ['s3.example', 'ftp://s3.example', 'https://user:secret@s3.example'],
  S3_LOCATION_KEY_ID: ['two words'],
  S3_LOCATION_REGION: ['us east', 'a/b'],
  S3_LOCATION_SECRET: ['two words'],
  OIDC_ISSUER: ['accounts.example', 'http://accounts.example', 'https://accounts.example/?a=b', 'https://u@a.example'],
  OIDC_CLIENT_ID: ['two words'],
  OIDC_CLIENT_SECRET: ['two words'],
  OIDC_NAME: ['n'.repeat(41)],
  OIDC_SCOPES: ['profile email', 'openid,email'],
  OIDC_PARAMETERS: ['prompt', 'a=b&&c=d'],
  OIDC_NEW_ACCOUNTS: ['yes'],
  OIDC_HOSTED_DOMAIN: ['https://example.com'],
  OIDC_ROLE_CLAIM: ['two words'],
  OIDC_ROLES: ['admins', 'admins=owner', 'a=admin,b'],
  OIDC_STORAGE_KEYS: ['engineers', 'engineers=a key'],
  OIDC_RECHECK_MINUTES: ['0', 'hourly'],
  PASSWORDS: ['no'],
  ACCESS_ISSUER: ['team.cloudflareaccess.com', 'https://team.cloudflareaccess.com/login'],
  ACCESS_AUDIENCE: ['abc'],
};

describe('settings', () => {
  it('let URLs that others chose reach other hosts of the zone only as everybody does, through Access and the firewall', () => {
    expect(config.compatibility_flags).toContain('global_fetch_strictly_public');
  });

  it('declare exactly the variables and secrets of wrangler.toml', () => {
    expect(Object.keys(config.vars).sort()).toEqual(namesOf(false).sort());
    expect(namesOf(true)).toEqual(expect.arrayContaining(config.secrets?.required ?? []));
    expect(parse(config.vars).problems).toEqual([]);
  });

  it('have a sentence and a range as documentation', () => {
    for (const { name, facts: known } of facts) {
      expect(known, name).toMatchObject({ meaning: expect.stringMatching(/\.$/), allowed: expect.stringMatching(/./) });
    }
    expect(readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')).toBe(toConfigurationPage());
  });

  it('have a bad value each in this test', () => {
    expect(Object.keys(BAD).sort()).toEqual(facts.map(({ name }) => name).sort());
  });

  for (const [name, values] of Object.entries(BAD)) {
    for (const value of values) {
      it(`refuses ${name}=${value.slice(0, 50)}, without showing it`, () => {
        const { settings, problems } = parse({ [name]: value });
        const [problem, ...rest] = problems.filter((one) => one.name === name);
        expect(problem).toBeDefined();
        expect(rest).toEqual([]);
        expect(problem?.message).toMatch(/^must /);
        if (value.length > 5) expect(JSON.stringify(problems)).not.toContain(value);
        expect(JSON.stringify(problems)).not.toContain('secret@');
        // A misconfigured setting must get no replacement value: reading it throws. The other settings keep working.
        expect(() => settings[name as keyof typeof settings]).toThrow(MisconfiguredError);
        expect(settings[name === 'SCRUB_DAYS' ? 'LEADERBOARD_SHARDS' : 'SCRUB_DAYS']).toBe(
          name === 'SCRUB_DAYS' ? 32 : 30,
        );
      });
    }
  }

  it('suggest a similar setting for an unknown one, by prefix or typing error', () => {
    const { problems } = parse({ MAIL_HOLD_SECOND: '60', REGISTRATON: 'open', RSPAMD_TIMEOUT: '5', EDITOR: 'vi' });
    expect(problems).toEqual([
      { name: 'MAIL_HOLD_SECOND', message: 'is not a setting. The closest name is MAIL_HOLD_SECONDS' },
      { name: 'REGISTRATON', message: 'is not a setting. The closest name is REGISTRATION' },
      { name: 'RSPAMD_TIMEOUT', message: expect.stringContaining('is not a setting') },
    ]);
    // Unknown names in the environment are errors only if they resemble a setting: other programs may use the same prefixes.
    expect(findTypingErrors(['S3_ENDPOINT_URL', 'MAIL', 'SMTP_SERVER', 'APP_HOSTS']).map(({ name }) => name)).toEqual([
      'APP_HOSTS',
    ]);
  });

  it('ignore bindings, and accept numbers and booleans of wrangler.toml', () => {
    const { settings, problems } = parse({ MAIL_OUTBOUND: { send() {} }, LEADERBOARD_SHARDS: 4, ALLOW_SIGV2: false });
    expect(problems).toEqual([]);
    expect([settings.LEADERBOARD_SHARDS, settings.ALLOW_SIGV2]).toEqual([4, false]);
  });

  it('have the documented defaults if they are empty or absent', () => {
    const { settings, problems } = parse({ MAIL_TRANSPORT: '', MAIL_DOMAINS: ' ' });
    expect(problems).toEqual([]);
    expect(settings).toMatchObject({
      MAIL_TRANSPORT: 'email-service',
      MAIL_DOMAINS: [],
      REGISTRATION: 'closed',
      SEND_LIMIT_PER_HOUR: 200,
      ALLOW_SIGV2: true,
    });
  });

  it('are checked for combinations that conflict', () => {
    const problemsOf = (values: Record<string, string>) => parse(values).problems.map(({ name }) => name);
    expect(parseSettings({}).problems.map(({ name }) => name)).toEqual(['ROOT_TOKEN', 'MASTER_KEY']);
    expect(problemsOf({ APP_HOST: 'a.example', S3_HOST: 'A.example' })).toEqual(['S3_HOST']);
    expect(problemsOf({ MAIL_TRANSPORT: 'smtp://r.example', MAIL_TRANSPORT_USER: 'u' })).toEqual([
      'MAIL_TRANSPORT_PASSWORD',
    ]);
    expect(problemsOf({ MAIL_TRANSPORT: 'smtp://r.example', MAIL_TRANSPORT_PASSWORD: 'p' })).toEqual([
      'MAIL_TRANSPORT_USER',
    ]);
    const login = { MAIL_TRANSPORT_USER: 'u', MAIL_TRANSPORT_PASSWORD: 'p' };
    expect(problemsOf(login)).toEqual(['MAIL_TRANSPORT_USER']);
    expect(problemsOf({ ...login, MAIL_TRANSPORT: 'smtp://r.example?tls=off' })).toEqual(['MAIL_TRANSPORT']);
    expect(problemsOf({ ...login, MAIL_TRANSPORT: 'smtps://r.example' })).toEqual([]);
    expect(problemsOf({ TURNSTILE_SITE_KEY: 'site' })).toEqual(['TURNSTILE_SECRET']);
    expect(problemsOf({ TURNSTILE_SECRET: 'secret' })).toEqual(['TURNSTILE_SITE_KEY']);
    expect(problemsOf({ TURNSTILE_SITE_KEY: 'site', TURNSTILE_SECRET: 'secret' })).toEqual([]);
  });

  it('accept only transports that mail can use, with any user and password', () => {
    for (const transport of [
      'email-service',
      'smtp://r.example',
      'smtps://[::1]:465',
      'smtp://10.0.0.1:2525?tls=required',
    ]) {
      expect(parse({ MAIL_TRANSPORT: transport }).problems).toEqual([]);
      expect(parseTransport(transport)).toBeTypeOf('object');
    }
    const word = fc.string({ minLength: 1, unit: 'grapheme' });
    fc.assert(
      fc.property(word, word, (user, password) => {
        const address = parseTransport(withCredentials('smtp://r.example:587?tls=required', user, password));
        expect(address).toMatchObject({ hostname: 'r.example', port: 587, tls: 'required', auth: { user, password } });
      }),
    );
  });
});

describe('the Worker', () => {
  it('reads settings through the schema only, without casts or variables of env', () => {
    const names = facts.map(({ name }) => name).join('|');
    const isRaw = new RegExp(`\\benv as\\b|\\benv\\.(?:${names})\\b`);
    const files = ['workers', 'durable-objects'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(folder, name)),
    );
    expect(files.length).toBeGreaterThan(300);
    expect(files.filter((file) => isRaw.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
  });
});
