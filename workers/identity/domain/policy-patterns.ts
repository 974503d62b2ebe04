/** Matches the wildcards and variables of policy documents. */

/** Values of condition keys, which are also the policy variables. The names are in lower case. */
export type KeyValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reads the value of a condition key. Ignores inherited members such as `constructor`.
 * @returns undefined if the request has no such key.
 */
export const readKey = (context: KeyValues, key: string): string | readonly string[] | undefined =>
  Object.hasOwn(context, key) ? context[key] : undefined;

const ANY_CHARACTERS = Symbol('*');
const ONE_CHARACTER = Symbol('?');
const NO_CHARACTER = Symbol('none');

/** A part of a pattern: a UTF-16 unit, a wildcard, or a part that matches nothing. */
type PatternPart = string | typeof ANY_CHARACTERS | typeof ONE_CHARACTER | typeof NO_CHARACTER;

/** Matches a text with a pattern, in which `*` stands for any characters and `?` for one. */
export const matchWildcard = (pattern: string, text: string): boolean => matchParts(toParts(pattern), text);

/**
 * Like `matchWildcard`, with policy variables. The value of a variable adds no wildcards: `${*}`, `${?}` and `${$}` are the
 * characters `*`, `?` and `$`.
 */
export const matchPattern = (pattern: string, text: string, context: KeyValues): boolean =>
  matchParts(
    splitAtVariables(pattern).flatMap(({ literal, variable }) => [
      ...toParts(literal),
      ...(variable === null ? [] : toVariableParts(variable, context)),
    ]),
    text,
  );

/** Replaces policy variables by their values. A variable that matches nothing becomes U+FFFF. */
export const substituteVariables = (pattern: string, context: KeyValues): string =>
  splitAtVariables(pattern)
    .map(
      ({ literal, variable }) => literal + (variable === null ? '' : (resolveVariable(variable, context) ?? '\uffff')),
    )
    .join('');

const toParts = (pattern: string): PatternPart[] =>
  pattern.split('').map((unit) => (unit === '*' ? ANY_CHARACTERS : unit === '?' ? ONE_CHARACTER : unit));

function toVariableParts(name: string, context: KeyValues): PatternPart[] {
  const value = resolveVariable(name, context);
  return value === null ? [NO_CHARACTER] : value.split('');
}

/** Splits a pattern into literal texts, each with the name of the variable after it; null at the end of the pattern. */
function splitAtVariables(pattern: string): { literal: string; variable: string | null }[] {
  const pieces = pattern.split(/\$\{([^}]*)\}/);
  return pieces.flatMap((literal, i) => (i % 2 === 0 ? [{ literal, variable: pieces[i + 1] ?? null }] : []));
}

/**
 * Finds the value of a policy variable (IAM User Guide, "IAM policy elements: Variables and tags").
 * @returns null for a variable that matches nothing: it is unknown or a list, or its value contains a wildcard.
 */
function resolveVariable(name: string, context: KeyValues): string | null {
  if (name === '*' || name === '?' || name === '$') return name;
  const value = readKey(context, name.toLowerCase());
  return typeof value === 'string' && !/[*?]/.test(value) ? value : null;
}

/**
 * Matches a text with the parts of a pattern. Backtracks to the last star only, so the time is at most the product of both lengths.
 */
function matchParts(pattern: readonly PatternPart[], text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === ONE_CHARACTER || pattern[p] === text[t]) {
      p++;
      t++;
    } else if (pattern[p] === ANY_CHARACTERS) {
      star = p++;
      resume = t;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (pattern[p] === ANY_CHARACTERS) p++;
  return p === pattern.length;
}
