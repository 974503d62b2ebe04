/** Rights of each role of an operator. Pure. */

export const OPERATOR_ROLES = ['admin', 'support', 'read'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** Routes of an operator's own session, password and profile. */
const OWN = /^\/v1\/operators\/(?:me(?:\/.*)?|logout)$/;
/** Routes of identity administration: users, keys, policies, tokens. Only root and `admin` may call them, even to read. */
const IDENTITY = /^\/v1\/iam\//;
/** Routes that return the content of people's mail. */
const CONTENT = /^\/v1\/quarantine\/[^/]+\/raw$/;
/** Routes that help accounts: type and quota, suspension, password reset, invitations. */
const HELP = [
  /^\/v1\/accounts\/[^/]+$/,
  /^\/v1\/accounts\/[^/]+\/(?:suspension|password-reset)$/,
  /^\/v1\/invites$/,
  /^\/v1\/storage\/quotas\//,
];

/**
 * Decides whether a role may call a route for operators.
 * - `read` may read everything except `/v1/iam` and the content of mail.
 * - `support` may also help accounts.
 * - `admin` may call every route. Which operators it may make and change is decided by `mayManage`.
 *
 * A new route needs no entry here: `read` and `support` may then read it, and only `admin` may change something with it.
 */
export function mayOperate(role: OperatorRole, method: string, path: string): boolean {
  if (role === 'admin' || OWN.test(path)) return true;
  if (IDENTITY.test(path) || CONTENT.test(path)) return false;
  if (method === 'GET' || method === 'HEAD') return true;
  return role === 'support' && HELP.some((pattern) => pattern.test(path));
}

/**
 * Whether a role may see what opens a person's mailbox, such as a link that sets a new password. Whoever may not can have the link
 * mailed to the person's recovery address.
 */
export const mayReadMail = (role: OperatorRole): boolean => role === 'admin';

/**
 * Decides whether a caller may make, change or delete an operator with these roles (the present one and the new one).
 * Only root manages operators with the role `admin`, so that a stolen `admin` session cannot replace the others.
 */
export const mayManage = (caller: 'root' | OperatorRole, roles: readonly OperatorRole[]): boolean =>
  caller === 'root' || (caller === 'admin' && !roles.includes('admin'));
