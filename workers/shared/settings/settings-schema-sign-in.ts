/** The settings of the sign-in with the account of a company, a part of `settings-schema.ts`. */
import { choice, hostname, number, text } from './setting-types.ts';

const GROUP = 'Sign-in';

const isClaimName = (value: string): boolean => /^[\x21-\x7e]{1,200}$/.test(value);
const isPrintable = (value: string): boolean => /^[\x21-\x7e]{1,500}$/.test(value);
const isScopeList = (value: string): boolean => /^openid(?: [\x21-\x7e]+)*$/.test(value);

/** An issuer is an https URL without query (OpenID Connect Discovery §2). Providers on loopback, for tests, have no HTTPS. */
function isIssuer(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') return false;
  const isLoopback = /^(?:127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback);
}

/** `value=what` pairs, separated by commas. */
export const readPairs = (value: string): (readonly [string, string])[] =>
  value
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.lastIndexOf('=');
      return [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()] as const;
    });

const arePairs = (value: string, what: RegExp): boolean =>
  readPairs(value).every(([name, right]) => name !== '' && what.test(right));

export const signInSettings = {
  OIDC_ISSUER: text(
    {
      group: GROUP,
      meaning:
        'Issuer of an OpenID Connect provider, whose accounts may sign in to mail, storage and the operator’s page.',
    },
    'an https URL without query',
    isIssuer,
  ),
  OIDC_CLIENT_ID: text(
    { group: GROUP, meaning: 'Id of Tessera at the provider.' },
    'printable ASCII characters without spaces',
    isPrintable,
  ),
  OIDC_CLIENT_SECRET: text(
    {
      group: GROUP,
      isSecret: true,
      meaning: 'Secret of Tessera at the provider. Without it, Tessera is a public client.',
    },
    'printable ASCII characters without spaces',
    isPrintable,
  ),
  OIDC_NAME: text(
    { group: GROUP, shownFallback: 'the host of OIDC_ISSUER', meaning: 'Name of the provider on the button.' },
    'at most 40 characters',
    (value) => value.length <= 40,
  ),
  OIDC_SCOPES: text(
    {
      group: GROUP,
      fallback: 'openid profile email offline_access',
      meaning:
        'Scopes that a sign-in asks for. `offline_access` gives the refresh token with which accounts are checked.',
    },
    'openid, and further scopes separated by spaces',
    isScopeList,
  ),
  OIDC_PARAMETERS: text(
    {
      group: GROUP,
      meaning:
        'Further parameters of the sign-in, for providers that need them: `access_type=offline&prompt=consent` for Google.',
    },
    'name=value pairs separated by &',
    (value) => /^[\w.-]+=[^&=\s]*(?:&[\w.-]+=[^&=\s]*)*$/.test(value),
  ),
  OIDC_NEW_ACCOUNTS: choice(['', 'verified', 'issuer'], {
    group: GROUP,
    fallback: '',
    meaning:
      'Whether a first sign-in makes a mail account with the address of the claim `email`: `verified` if the claim `email_verified` is true, `issuer` always. Empty: never. An address that was ever issued is never given to a sign-in.',
  }),
  OIDC_HOSTED_DOMAIN: hostname({
    group: GROUP,
    meaning: 'Value of the claim `hd` that a first sign-in needs to make an account: the domain of a Google Workspace.',
  }),
  OIDC_ROLE_CLAIM: text(
    {
      group: GROUP,
      fallback: 'groups',
      meaning: 'Claim with the groups or roles of a person, a text or a list of texts.',
    },
    'the name of a claim',
    isClaimName,
  ),
  OIDC_ROLES: text(
    {
      group: GROUP,
      meaning:
        'Roles of operators by values of OIDC_ROLE_CLAIM: `tessera-admins=admin,helpdesk=support,audit=read`. Empty: the provider makes no operators.',
    },
    'value=admin, value=support or value=read, separated by commas',
    (value) => arePairs(value, /^(?:admin|support|read)$/),
  ),
  OIDC_STORAGE_KEYS: text(
    {
      group: GROUP,
      meaning:
        'Access keys by values of OIDC_ROLE_CLAIM: `engineers=TESS…`. A person with the value gets temporary keys of an hour with the rights of the access key’s user on the storage page.',
    },
    'value=access key id, separated by commas',
    (value) => arePairs(value, /^[\w-]{3,128}$/),
  ),
  OIDC_RECHECK_MINUTES: number({
    group: GROUP,
    unit: 'minutes',
    min: 1,
    max: 1_440,
    fallback: 60,
    meaning:
      'Time between two checks of an account with its refresh token. If the provider refuses, sessions, app tokens and roles stop.',
  }),
  PASSWORDS: choice(['on', 'off'], {
    group: GROUP,
    fallback: 'on',
    meaning:
      'Whether passwords of people and operators log in. With `off`, only the provider, passkeys and app tokens do, and ROOT_TOKEN.',
  }),
  ACCESS_ISSUER: text(
    {
      group: GROUP,
      meaning: 'Team of Cloudflare Access, `https://name.cloudflareaccess.com`. Its tokens sign in too.',
    },
    'an https URL without path',
    (value) => isIssuer(value) && new URL(value).origin === value,
  ),
  ACCESS_AUDIENCE: text(
    { group: GROUP, meaning: 'Audience tag of the Access application that protects APP_HOST.' },
    '64 hexadecimal digits',
    (value) => /^[0-9a-f]{64}$/.test(value),
  ),
};
