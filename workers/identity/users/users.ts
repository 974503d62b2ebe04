/** Look-ups of users by id, for products. */
import { createIdentityStore, type UserRow } from '../store/store.ts';

export const findUserById = (env: Env, userId: string): Promise<UserRow | null> =>
  createIdentityStore(env.DIRECTORY).findUser(userId);

/** @returns those of the given user ids whose users are suspended. */
export const findSuspended = (env: Env, userIds: readonly string[]): Promise<string[]> =>
  createIdentityStore(env.DIRECTORY).listSuspended(userIds);

/** The `user_name` of a user that was created without one. */
export const inventUserName = (userId: string): string => userId;

export const forgetUser = (env: Env, userId: string): Promise<void> =>
  createIdentityStore(env.DIRECTORY).deleteUser(userId);
