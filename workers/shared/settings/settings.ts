/**
 * The settings of an environment, parsed once per isolate.
 *
 * A bad value is never replaced by another one: reading that setting throws `MisconfiguredError`, which the JSON APIs and S3
 * answer with 503. Everything that does not need the setting keeps working. `npm start`, `npm run deploy` and
 * `GET /v1/health` list every problem.
 */
import type { z } from 'zod';
import { closestName } from '../pure/closest-name.ts';
import { type Settings, settingsSchema } from './settings-schema.ts';

export type { Settings } from './settings-schema.ts';

export interface SettingProblem {
  /** Name of the variable or secret. */
  readonly name: string;
  /** Text that completes a sentence which begins with the name, without the full stop. Never contains the value. */
  readonly message: string;
}

export const toSentence = ({ name, message }: SettingProblem): string => `${name} ${message}.`;

/** Thrown when a setting with a bad value is read. */
export class MisconfiguredError extends Error {
  readonly problem: SettingProblem;
  constructor(problem: SettingProblem) {
    super(toSentence(problem));
    this.name = 'MisconfiguredError';
    this.problem = problem;
  }
}

/** Finds the `MisconfiguredError` that an error is or was caused by, such as the error of a query. @returns null if there is none. */
export function findMisconfigured(error: unknown): MisconfiguredError | null {
  if (error instanceof MisconfiguredError) return error;
  return error instanceof Error && error.cause !== undefined ? findMisconfigured(error.cause) : null;
}

interface ParsedSettings {
  /** The values. The getter of a setting with a bad value throws `MisconfiguredError`. */
  readonly settings: Settings;
  readonly problems: readonly SettingProblem[];
}

const parsedSettings = new WeakMap<object, ParsedSettings>();

/** The settings of an environment. Never throws itself; reading a setting with a bad value from the returned object throws. */
export const settingsOf = (env: Env): Settings => parsed(env).settings;

/** Every bad value and every unknown name in an environment. */
export const settingProblemsOf = (env: Env): readonly SettingProblem[] => parsed(env).problems;

function parsed(env: Env): ParsedSettings {
  let known = parsedSettings.get(env);
  if (known === undefined) {
    known = parseSettings(env);
    parsedSettings.set(env, known);
  }
  return known;
}

export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

/**
 * Parses variables and secrets. Empty text counts as absent.
 * @param environment variables and secrets by name. It may also have bindings, which are ignored.
 */
export function parseSettings(environment: object): ParsedSettings {
  const values = readValues(environment);
  const problems: SettingProblem[] = [];
  const outcome = settingsSchema.safeParse(values);
  let settings = outcome.data;
  if (!outcome.success) {
    problems.push(...toProblems(outcome.error));
    const good = Object.entries(values).filter(([name]) => !problems.some((problem) => problem.name === name));
    settings = settingsSchema.parse(Object.fromEntries(good));
  }
  if (settings === undefined) throw new Error('a parse without an error gave no settings');
  for (const problem of checkTogether(settings)) {
    if (!problems.some(({ name }) => name === problem.name)) problems.push(problem);
  }
  for (const problem of problems) {
    const get = (): never => {
      throw new MisconfiguredError(problem);
    };
    Object.defineProperty(settings, problem.name, { get });
  }
  return { settings, problems: [...problems, ...findUnknownNames(Object.keys(values))] };
}

/**
 * Converts every variable to text. Bindings and JSON variables are objects and are omitted; wrangler.toml may have numbers and
 * booleans.
 */
function readValues(environment: object): Record<string, string> {
  const entries: [string, unknown][] = Object.entries(environment);
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return [];
      const text = String(value).trim();
      return text === '' ? [] : [[name, text]];
    }),
  );
}

function toProblems(error: z.ZodError): SettingProblem[] {
  const byName = new Map(error.issues.map((issue) => [String(issue.path[0]), issue.message]));
  return [...byName].map(([name, message]) => ({ name, message }));
}

/** Checks rules that concern more than one setting. */
function* checkTogether(settings: Settings): Generator<SettingProblem> {
  const missing = 'is missing';
  if (settings.ROOT_TOKEN === '') yield { name: 'ROOT_TOKEN', message: missing };
  if (settings.MASTER_KEY === '') yield { name: 'MASTER_KEY', message: missing };
  if (settings.APP_HOST !== '' && settings.APP_HOST === settings.S3_HOST)
    yield { name: 'S3_HOST', message: 'must differ from APP_HOST' };
  const { TURNSTILE_SITE_KEY: siteKey, TURNSTILE_SECRET: turnstileSecret } = settings;
  if (siteKey !== '' && turnstileSecret === '')
    yield { name: 'TURNSTILE_SECRET', message: 'is missing, but TURNSTILE_SITE_KEY is set' };
  if (siteKey === '' && turnstileSecret !== '')
    yield { name: 'TURNSTILE_SITE_KEY', message: 'is missing, but TURNSTILE_SECRET is set' };
  if (settings.OIDC_ISSUER !== '' && settings.OIDC_CLIENT_ID === '')
    yield { name: 'OIDC_CLIENT_ID', message: 'is missing, but OIDC_ISSUER is set' };
  if (settings.ACCESS_ISSUER !== '' && settings.ACCESS_AUDIENCE === '')
    yield { name: 'ACCESS_AUDIENCE', message: 'is missing, but ACCESS_ISSUER is set' };
  const { MAIL_TRANSPORT: transport, MAIL_TRANSPORT_USER: user, MAIL_TRANSPORT_PASSWORD: password } = settings;
  if (user !== '' && password === '')
    yield { name: 'MAIL_TRANSPORT_PASSWORD', message: 'is missing, but MAIL_TRANSPORT_USER is set' };
  if (user === '' && password !== '')
    yield { name: 'MAIL_TRANSPORT_USER', message: 'is missing, but MAIL_TRANSPORT_PASSWORD is set' };
  if (user !== '' && !/(?:^|,)\s*smtps?:/i.test(transport))
    yield { name: 'MAIL_TRANSPORT_USER', message: 'needs a MAIL_TRANSPORT that starts with smtp:// or smtps://' };
  if (user !== '' && /(?:^|,)\s*smtp:[^,]*tls=off/i.test(transport))
    yield { name: 'MAIL_TRANSPORT', message: 'must not have tls=off: a password is sent inside TLS only' };
}

/** First words of the settings' names, such as `MAIL_` and `RSPAMD_`. */
const PREFIXES = new Set(settingNames.flatMap((name) => /^[A-Z0-9]+_/.exec(name)?.[0] ?? []));
/** Maximum number of edits from a name to a known one for which the name counts as a typing error. */
const TYPING_ERRORS_MAX = 2;

const hasPrefix = (name: string): boolean => PREFIXES.has(/^[A-Z0-9]+_/.exec(name)?.[0] ?? '');

/** Finds names that look like a setting but are none: they have its first word, or a typing error. */
export const findUnknownNames = (names: readonly string[]): SettingProblem[] =>
  names.filter((name) => hasPrefix(name) || isTypingError(name)).flatMap(toUnknownName);

/** Finds names that differ from a setting by one or two characters. For an environment that other programs share. */
export const findTypingErrors = (names: readonly string[]): SettingProblem[] =>
  names.filter(isTypingError).flatMap(toUnknownName);

const isTypingError = (name: string): boolean => closestName(name, settingNames).edits <= TYPING_ERRORS_MAX;

function toUnknownName(name: string): SettingProblem[] {
  if (settingNames.includes(name)) return [];
  return [{ name, message: `is not a setting. The closest name is ${closestName(name, settingNames).name}` }];
}
