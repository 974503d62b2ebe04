/**
 * Parses and evaluates AWS-style policy documents: identity policies and bucket policies (IAM User Guide, "IAM JSON policy elements
 * reference" and "Policy evaluation logic"). Pure.
 *
 * By design: an account is one user here, so `arn:aws:iam::<user_id>:root`, `arn:aws:iam::<user_id>:user/<any>`,
 * `arn:aws:iam:::user/<user_id>` and the bare `<user_id>` all name that user.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { isDocumentedKey } from './condition-keys.ts';
import {
  areConditionsMet,
  type ConditionBlock,
  type ConditionContext,
  parseConditionBlock,
} from './policy-conditions.ts';
import { matchPattern, matchWildcard } from './policy-patterns.ts';

/** An AWS-style policy document as stored. `parsePolicy` parses it. */
export type PolicyDocument = Readonly<Record<string, unknown>>;

export interface Policy {
  readonly id: string | null;
  readonly statements: readonly PolicyStatement[];
}

export interface PolicyStatement {
  readonly effect: 'Allow' | 'Deny';
  /**
   * Principals to whom the statement applies; null if it has no such element. `*` matches every caller, including anonymous ones.
   */
  readonly principals: PrincipalSet | null;
  readonly actions: Negatable;
  readonly resources: Negatable | null;
  readonly conditions: ConditionBlock;
}

interface Negatable {
  readonly negated: boolean;
  readonly patterns: readonly string[];
}

interface PrincipalSet extends Negatable {
  readonly everybody: boolean;
}

/** The access that policies decide about. `userId` is null for an anonymous caller. */
export interface PolicyRequest {
  /** Name of the action, such as `s3:GetObject`. */
  readonly action: string;
  /** ARN of the resource, such as `arn:aws:s3:::bucket/key`. */
  readonly resource: string;
  readonly userId: string | null;
  /** Values of condition keys, which are also the policy variables. The names are in lower case. */
  readonly context: ConditionContext;
}

export type PolicyDecision = 'allow' | 'deny' | 'none';

/** Evaluates policies. An explicit Deny takes precedence over every Allow. @returns `none` if no statement applies. */
export function evaluatePolicies(policies: readonly Policy[], request: PolicyRequest): PolicyDecision {
  let decision: PolicyDecision = 'none';
  for (const policy of policies) {
    for (const statement of policy.statements) {
      if (!doesStatementApply(statement, request)) continue;
      if (statement.effect === 'Deny') return 'deny';
      decision = 'allow';
    }
  }
  return decision;
}

function doesStatementApply(statement: PolicyStatement, request: PolicyRequest): boolean {
  const { principals, actions, resources } = statement;
  if (principals && doesPrincipalMatch(principals, request.userId) === principals.negated) return false;
  const isAction = actions.patterns.some((pattern) =>
    matchWildcard(pattern.toLowerCase(), request.action.toLowerCase()),
  );
  if (isAction === actions.negated) return false;
  if (resources) {
    const isResource = resources.patterns.some((pattern) => matchPattern(pattern, request.resource, request.context));
    if (isResource === resources.negated) return false;
  }
  return areConditionsMet(statement.conditions, request.context, statement.effect);
}

function doesPrincipalMatch(principals: PrincipalSet, userId: string | null): boolean {
  if (principals.everybody) return true;
  if (userId === null) return false;
  return principals.patterns.some((pattern) => toPrincipalUserId(pattern) === userId);
}

/** @returns the id of the user that a principal names, or null if it names no user of this service. */
export function toPrincipalUserId(principal: string): string | null {
  const arn = /^arn:[a-z-]+:(?:iam|sts)::([^:]*):(.+)$/.exec(principal);
  if (!arn) return principal.includes(':') ? null : principal;
  if (arn[1]) return arn[1];
  return /^user\/(?:.*\/)?([^/]+)$/.exec(arn[2] ?? '')?.[1] ?? null;
}

/** Whether the policy allows something to everyone, without a condition that restricts the callers (GetBucketPolicyStatus). */
export function isPublicPolicy(policy: Policy): boolean {
  return policy.statements.some(
    (statement) =>
      statement.effect === 'Allow' &&
      statement.principals !== null &&
      (statement.principals.everybody || statement.principals.negated) &&
      !statement.conditions.some((condition) => NARROWING_KEYS.includes(condition.key) && !condition.isOpen),
  );
}

/** Condition keys that restrict a policy to known callers (User Guide, "The meaning of public"). */
const NARROWING_KEYS = [
  'aws:principalorgid',
  'aws:sourcearn',
  'aws:sourceaccount',
  'aws:sourceip',
  'aws:sourcevpc',
  'aws:sourcevpce',
  'aws:userid',
  'aws:username',
  'aws:principalarn',
  's3:dataaccesspointarn',
  's3:dataaccesspointaccount',
];

export type PolicyKind = 'identity' | 'bucket';

const STATEMENT_MEMBERS = [
  'Sid',
  'Effect',
  'Principal',
  'NotPrincipal',
  'Action',
  'NotAction',
  'Resource',
  'NotResource',
  'Condition',
];

/**
 * Parses a policy document.
 * @param document the parsed JSON. @returns the policy, or a message about the first fault in the document.
 */
export function parsePolicy(document: unknown, kind: PolicyKind): Result<Policy, string> {
  if (!isRecord(document)) return err("Policies must be valid JSON and the first byte must be '{'");
  for (const name of Object.keys(document)) {
    if (!['Version', 'Id', 'Statement'].includes(name)) return err(`Unknown field ${name}`);
  }
  const version = document.Version;
  if (version !== undefined && version !== '2012-10-17' && version !== '2008-10-17') {
    return err('The policy must contain a valid version string');
  }
  if (document.Id !== undefined && typeof document.Id !== 'string') return err('Id must be a string');
  const list = Array.isArray(document.Statement) ? document.Statement : [document.Statement];
  if (document.Statement === undefined || list.length === 0) return err('Missing required field Statement');
  const statements: PolicyStatement[] = [];
  for (const item of list) {
    const statement = parseStatement(item, kind);
    if (!statement.ok) return statement;
    statements.push(statement.value);
  }
  return ok({ id: typeof document.Id === 'string' ? document.Id : null, statements });
}

/**
 * Checks the condition keys of new policies; stored policies are not checked.
 * @returns a message about the first condition key that AWS does not document, or null.
 */
export function findConditionKeyFault({ statements }: Policy): string | null {
  const keys = statements.flatMap((statement) => statement.conditions.map((condition) => condition.key));
  const wrong = keys.find((key) => !isDocumentedKey(key));
  return wrong === undefined ? null : `Policy has an invalid condition key: ${wrong}`;
}

function parseStatement(item: unknown, kind: PolicyKind): Result<PolicyStatement, string> {
  if (!isRecord(item)) return err('Statement must be an object');
  for (const name of Object.keys(item)) {
    if (!STATEMENT_MEMBERS.includes(name)) return err(`Unknown field ${name}`);
  }
  const effect = item.Effect;
  if (effect === undefined) return err('Missing required field Effect');
  if (effect !== 'Allow' && effect !== 'Deny') return err(`Invalid effect: ${String(effect)}`);
  const principals = parsePrincipals(item);
  if (!principals.ok) return principals;
  if (kind === 'bucket' && principals.value === null) return err('Missing required field Principal');
  if (kind === 'identity' && principals.value !== null) return err('An identity policy has no Principal');
  // An Allow with NotPrincipal would allow everyone else. IAM: "Using NotPrincipal with Allow is not supported".
  if (effect === 'Allow' && principals.value?.negated) return err('Allow with NotPrincipal is not allowed');
  const actions = parseNegatable(item, 'Action', 'NotAction');
  if (!actions.ok) return actions;
  if (actions.value === null) return err('Missing required field Action');
  const wrongAction = actions.value.patterns.find((pattern) => !/^(\*|[a-z0-9-]+:[A-Za-z0-9*?]+)$/i.test(pattern));
  if (wrongAction !== undefined) return err('Policy has invalid action');
  const resources = parseNegatable(item, 'Resource', 'NotResource');
  if (!resources.ok) return resources;
  if (resources.value === null) return err('Missing required field Resource');
  const conditions = parseConditionBlock(item.Condition);
  if (!conditions.ok) return conditions;
  return ok({
    effect,
    principals: principals.value,
    actions: actions.value,
    resources: resources.value,
    conditions: conditions.value,
  });
}

function parseNegatable(
  item: Record<string, unknown>,
  name: string,
  notName: string,
): Result<Negatable | null, string> {
  const [plain, not] = [item[name], item[notName]];
  if (plain !== undefined && not !== undefined) return err(`${name} and ${notName} exclude each other`);
  const value = plain ?? not;
  if (value === undefined) return ok(null);
  const patterns = toTexts(value);
  if (patterns === null || patterns.length === 0) return err(`${name} must be a string or a list of strings`);
  return ok({ negated: not !== undefined, patterns });
}

function parsePrincipals(item: Record<string, unknown>): Result<PrincipalSet | null, string> {
  const { Principal: plain, NotPrincipal: not } = item;
  if (plain !== undefined && not !== undefined) return err('Principal and NotPrincipal exclude each other');
  const value = plain ?? not;
  if (value === undefined) return ok(null);
  const negated = not !== undefined;
  if (value === '*') return ok({ negated, everybody: true, patterns: [] });
  if (!isRecord(value)) return err('Invalid principal in policy');
  const patterns: string[] = [];
  let everybody = false;
  for (const [type, names] of Object.entries(value)) {
    if (!['AWS', 'CanonicalUser', 'Service', 'Federated'].includes(type)) return err('Invalid principal in policy');
    const texts = toTexts(names);
    if (texts === null) return err('Invalid principal in policy');
    if (type === 'AWS' && texts.includes('*')) everybody = true;
    if (type === 'AWS' && texts.some((text) => text !== '*' && toPrincipalUserId(text) === null)) {
      return err('Invalid principal in policy');
    }
    if (type === 'AWS' || type === 'CanonicalUser') patterns.push(...texts);
  }
  return ok({ negated, everybody, patterns });
}

function toTexts(value: unknown): string[] | null {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every((text) => typeof text === 'string') ? (list as string[]) : null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export type { ConditionContext } from './policy-conditions.ts';
