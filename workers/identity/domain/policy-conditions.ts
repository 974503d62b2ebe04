/** The Condition element of policies (IAM User Guide, "IAM JSON policy elements: Condition operators"). */
import { isInNetwork, parseIp, parseNetwork } from '../../shared/pure/ip-address.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isReadKey } from './condition-keys.ts';
import { type KeyValues, matchPattern, readKey, substituteVariables } from './policy-patterns.ts';

/**
 * Values of the request's condition keys, with names in lower case. An absent key is one that the request does not
 * have.
 */
export type ConditionContext = KeyValues;

export interface Condition {
  readonly operator: Operator;
  readonly set: 'single' | 'any' | 'all';
  readonly ifExists: boolean;
  /** Condition key in lower case. */
  readonly key: string;
  readonly values: readonly string[];
  /** Whether the values of the condition match every request (`*`, `0.0.0.0/0`), so that it restricts nothing. */
  readonly isOpen: boolean;
}

export type ConditionBlock = readonly Condition[];

type Test = (actual: string, expected: string, context: ConditionContext) => boolean;

/** Parses a decimal number. @returns NaN for any other text, such as blank text. */
const toNumber = (text: string): number => (/^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);
const numeric =
  (test: (a: number, b: number) => boolean): Test =>
  (actual, expected) =>
    test(toNumber(actual), toNumber(expected));

const toTime = (text: string): number => (/^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text));
const date =
  (test: (a: number, b: number) => boolean): Test =>
  (actual, expected) =>
    test(toTime(actual), toTime(expected));

const like: Test = (actual, expected, context) => matchPattern(expected, actual, context);
const isAddressIn: Test = (actual, expected) => {
  const [ip, network] = [parseIp(actual), parseNetwork(expected)];
  return ip !== null && network !== null && isInNetwork(ip, network);
};
const equals: Test = (actual, expected, context) => substituteVariables(expected, context) === actual;

/** For each operator, a test of one value. A negated operator holds only if no expected value passes its test. */
const OPERATORS = {
  StringEquals: [equals, false],
  StringNotEquals: [equals, true],
  StringEqualsIgnoreCase: [(a, b, c) => equals(a.toLowerCase(), substituteVariables(b, c).toLowerCase(), c), false],
  StringNotEqualsIgnoreCase: [(a, b, c) => equals(a.toLowerCase(), substituteVariables(b, c).toLowerCase(), c), true],
  StringLike: [like, false],
  StringNotLike: [like, true],
  NumericEquals: [numeric((a, b) => a === b), false],
  NumericNotEquals: [numeric((a, b) => a === b), true],
  NumericLessThan: [numeric((a, b) => a < b), false],
  NumericLessThanEquals: [numeric((a, b) => a <= b), false],
  NumericGreaterThan: [numeric((a, b) => a > b), false],
  NumericGreaterThanEquals: [numeric((a, b) => a >= b), false],
  DateEquals: [date((a, b) => a === b), false],
  DateNotEquals: [date((a, b) => a === b), true],
  DateLessThan: [date((a, b) => a < b), false],
  DateLessThanEquals: [date((a, b) => a <= b), false],
  DateGreaterThan: [date((a, b) => a > b), false],
  DateGreaterThanEquals: [date((a, b) => a >= b), false],
  Bool: [(a, b) => a.toLowerCase() === b.toLowerCase(), false],
  BinaryEquals: [equals, false],
  IpAddress: [isAddressIn, false],
  NotIpAddress: [isAddressIn, true],
  ArnEquals: [like, false],
  ArnLike: [like, false],
  ArnNotEquals: [like, true],
  ArnNotLike: [like, true],
  Null: [() => false, false],
} as const satisfies Record<string, readonly [Test, boolean]>;

type Operator = keyof typeof OPERATORS;

/** Whether a value has the type that the operator compares. */
function isReadable(operator: string, value: string): boolean {
  if (operator.startsWith('Numeric')) return !Number.isNaN(toNumber(value));
  if (operator.startsWith('Date')) return !Number.isNaN(toTime(value));
  return !operator.endsWith('IpAddress') || parseIp(value) !== null;
}

export function parseConditionBlock(value: unknown): Result<ConditionBlock, string> {
  if (value === undefined) return ok([]);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return err('Condition must be an object');
  const conditions: Condition[] = [];
  for (const [text, keys] of Object.entries(value as Record<string, unknown>)) {
    const match = /^(?:(ForAnyValue|ForAllValues):)?([A-Za-z]+?)(IfExists)?$/.exec(text);
    const operator = Object.keys(OPERATORS).find((name) => name.toLowerCase() === match?.[2]?.toLowerCase());
    if (!match || !operator) return err(`Invalid Condition type : ${text}`);
    if (typeof keys !== 'object' || keys === null || Array.isArray(keys))
      return err('Condition must map keys to values');
    for (const [key, given] of Object.entries(keys as Record<string, unknown>)) {
      const values = (Array.isArray(given) ? given : [given]).map((one: unknown) => String(one));
      if (operator.endsWith('IpAddress') && values.some((one) => parseNetwork(one) === null)) {
        return err(`Invalid IP address in Conditions: ${values.join(', ')}`);
      }
      const wrong = values.find((one) => !operator.endsWith('IpAddress') && !isReadable(operator, one));
      if (wrong !== undefined) return err(`Invalid value in Conditions: ${key} cannot be ${JSON.stringify(wrong)}`);
      conditions.push({
        operator: operator as Operator,
        set: match[1] === 'ForAnyValue' ? 'any' : match[1] === 'ForAllValues' ? 'all' : 'single',
        ifExists: match[3] !== undefined,
        key: key.toLowerCase(),
        values,
        isOpen:
          OPERATORS[operator as Operator][1] ||
          values.some((one) => one === '*' || parseNetwork(one)?.prefixBits === 0),
      });
    }
  }
  return ok(conditions);
}

/**
 * Every condition must hold. A condition holds if one of its values matches.
 * @param effect effect of the statement. If a condition cannot be decided, an Allow does not apply and a Deny does. A condition
 *   cannot be decided if this service does not read its key, or if a value is not of the operator's type.
 */
export function areConditionsMet(
  conditions: ConditionBlock,
  context: ConditionContext,
  effect: 'Allow' | 'Deny',
): boolean {
  return conditions.every((condition) => isConditionMet(condition, context) ?? effect === 'Deny');
}

/** Whether a condition holds; null if it cannot be decided. */
function isConditionMet(condition: Condition, context: ConditionContext): boolean | null {
  const value = readKey(context, condition.key);
  if (value === undefined && !isReadKey(condition.key)) return null;
  if (condition.operator === 'Null') {
    return condition.values.some((expected) => (expected.toLowerCase() === 'true') === (value === undefined));
  }
  const [test, negated] = OPERATORS[condition.operator];
  const passes = (actual: string): boolean =>
    condition.values.some((expected) => (test as Test)(actual, expected, context)) !== negated;
  if (value === undefined) {
    // If the key is missing, a positive test fails and a negated one passes. …IfExists and ForAllValues always pass.
    return condition.ifExists || condition.set === 'all' || (negated && condition.set === 'single');
  }
  const actual = typeof value === 'string' ? [value] : value;
  if (!actual.every((one) => isReadable(condition.operator, one))) return null;
  return condition.set === 'all' ? actual.every(passes) : actual.some(passes);
}
