/**
 * The situation that a lease must bear: a first worker stops at one of its calls, its lease ends, a second worker does the work, then
 * the first one's late call or late answer arrives. A lease needs one call of `expectLateWorkerHarmless`.
 */

/** Runs around a call of a store or an object. */
export type Intercept = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** Where the first worker stops: before a call, which is then late, or after it, so that only its answer is late. */
export const STOPS = ['before', 'after'] as const;

interface Situation<Scene> {
  readonly makeScene: () => Promise<Scene>;
  /** The work of one worker, with each call passed through `intercept`. It may throw. */
  readonly work: (scene: Scene, intercept: Intercept) => Promise<unknown>;
  /** Lets the lease of the worker end. */
  readonly expire: (scene: Scene) => void | Promise<void>;
  /** Expects that nothing was sent, granted, overwritten or removed twice. `where` describes the case. */
  readonly check: (scene: Scene, where: string) => Promise<void>;
}

const straight: Intercept = (_, call) => call();

/** Plays the situation at each call of the work. @returns the number of cases. */
export async function expectLateWorkerHarmless<Scene>(situation: Situation<Scene>): Promise<number> {
  const { makeScene, work, expire, check } = situation;
  let cases = 0;
  for (const stop of STOPS) {
    for (let at = 0; ; at++) {
      const scene = await makeScene();
      let calls = 0;
      let hit = '';
      const second = async (name: string) => {
        hit = name;
        await expire(scene);
        await work(scene, straight);
      };
      const first: Intercept = async (name, call) => {
        const isHere = calls++ === at;
        if (isHere && stop === 'before') await second(name);
        const answer = await call();
        if (isHere && stop === 'after') await second(name);
        return answer;
      };
      await work(scene, first).catch(() => {});
      if (hit === '') break;
      // Whatever the late worker left is done by the next one.
      await expire(scene);
      await work(scene, straight);
      await check(scene, `stopped ${stop} call ${at}, ${hit}`);
      cases++;
    }
  }
  return cases;
}

/** Passes each call of an object's methods through `intercept`. */
export function interceptCalls<T extends object>(target: T, intercept: Intercept, methods?: readonly string[]): T {
  return new Proxy(target, {
    get(object, name) {
      const member: unknown = Reflect.get(object, name);
      if (typeof member !== 'function') return member;
      const call = (...args: unknown[]) => Reflect.apply(member, object, args);
      if (typeof name !== 'string' || (methods && !methods.includes(name))) return call;
      return (...args: unknown[]) => intercept(name, async () => call(...args));
    },
  });
}

const NOT_CALLS = new Set<string | symbol>(['id', 'name', 'then', 'dup', 'connect']);

/** Bindings with each call of a mailbox passed through `intercept`. */
export function interceptMailboxes(bindings: Env, intercept: Intercept): Env {
  const wrapStub = (stub: object) =>
    new Proxy(stub, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof name !== 'string' || typeof member !== 'function' || NOT_CALLS.has(name)) return member;
        return (...args: unknown[]) => intercept(name, async () => Reflect.get(target, name)(...args));
      },
    });
  const MAILBOX = new Proxy(bindings.MAILBOX, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (name === 'get' || name === 'getByName') return (...args: unknown[]) => wrapStub(member.apply(target, args));
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return { ...bindings, MAILBOX };
}
