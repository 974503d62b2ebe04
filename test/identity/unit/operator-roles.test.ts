import { expect, it } from 'vitest';
import { mayManage, mayOperate, OPERATOR_ROLES } from '../../../workers/identity/domain/operator-roles.ts';

it.each([
  // The last column has the rights of the roles admin, support and read: y or n for each.
  ['GET', '/v1/metrics', 'yyy'],
  ['HEAD', '/v1/metrics', 'yyy'],
  ['POST', '/v1/metrics', 'ynn'],
  ['DELETE', '/v1/storage/buckets/a', 'ynn'],
  // Routes for an operator's own session and profile.
  ['POST', '/v1/operators/logout', 'yyy'],
  ['GET', '/v1/operators/me', 'yyy'],
  ['PUT', '/v1/operators/me/password', 'yyy'],
  ['POST', '/v1/operators/meter', 'ynn'],
  ['POST', '/v1/operators', 'ynn'],
  // Roles other than admin may not even read identity administration and the content of mail.
  ['GET', '/v1/iam/users', 'ynn'],
  ['GET', '/v1/quarantine/7/raw', 'ynn'],
  ['HEAD', '/v1/quarantine/7/raw', 'ynn'],
  ['GET', '/v1/quarantine/7', 'yyy'],
  ['DELETE', '/v1/quarantine/7', 'ynn'],
  // Actions that help the owner of an account, which the role support may take too.
  ['PATCH', '/v1/accounts/7', 'yyn'],
  ['PUT', '/v1/accounts/7/suspension', 'yyn'],
  ['POST', '/v1/accounts/7/password-reset', 'yyn'],
  ['POST', '/v1/accounts/7/erasure', 'ynn'],
  ['POST', '/v1/accounts', 'ynn'],
  ['POST', '/v1/invites', 'yyn'],
  ['PUT', '/v1/storage/quotas/users/7', 'yyn'],
])('%s %s is allowed to admin, support and read: %s', (method, path, rights) => {
  expect(OPERATOR_ROLES.map((role) => (mayOperate(role, method, path) ? 'y' : 'n')).join('')).toBe(rights);
});

it('only root manages operators with the role admin, and only root and admin manage others', () => {
  for (const roles of [['admin'], ['read', 'admin'], ['admin', 'support']] as const) {
    expect(mayManage('root', roles)).toBe(true);
    for (const role of OPERATOR_ROLES) expect(mayManage(role, roles)).toBe(false);
  }
  for (const roles of [['support'], ['read', 'support'], []] as const)
    expect((['root', ...OPERATOR_ROLES] as const).map((role) => mayManage(role, roles))).toEqual([
      ...[true, true, false, false],
    ]);
});
