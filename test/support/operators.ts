/** Creates operators as people, who log in with a password and a code. */
import { randomUUID } from 'node:crypto';
import type { TestServer } from './server.ts';
import { codeAt } from './totp.ts';

export interface TestOperator {
  readonly operatorId: string;
  /** Bearer token of the operator's session. */
  readonly token: string;
}

export const OPERATOR_PASSWORD = 'a long operator password';

/** Creates an operator with a role and logs it in. */
export async function createOperator(
  server: TestServer,
  role: 'admin' | 'support' | 'read',
  login = `op-${randomUUID()}`,
): Promise<TestOperator> {
  const made = await server.call('POST', '/v1/operators', { login, name: role, role, password: OPERATOR_PASSWORD });
  const totp = codeAt(made.body.totp.secret);
  const { body } = await server.call('POST', '/v1/operators/login', { login, password: OPERATOR_PASSWORD, totp }, null);
  return { operatorId: made.body.operator_id, token: body.token };
}
