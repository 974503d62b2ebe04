/** Users by id, for products. */
import { createIdentityStore, type UserRow } from '../store/store.ts';

export const findUserById = (env: Env, userId: string): Promise<UserRow | null> =>
  createIdentityStore(env.DIRECTORY).findUser(userId);

/** @returns the ids of the users that are suspended. */
export const findSuspended = (env: Env, userIds: readonly string[]): Promise<string[]> =>
  createIdentityStore(env.DIRECTORY).listSuspended(userIds);

/** The default `user_name`. */
export const inventUserName = (userId: string): string => userId;

export const forgetUser = (env: Env, userId: string): Promise<void> =>
  createIdentityStore(env.DIRECTORY).deleteUser(userId);
