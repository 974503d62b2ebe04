/** Wraps an R2 bucket so that its calls fail, or never end, while a test says so. */

export type LocationState = 'up' | 'down' | 'hanging' | 'broken off';

export interface SickLocation {
  state: LocationState;
  /** Names of the methods that were called. */
  readonly calls: string[];
}

/** Wraps a bucket. In the state `broken off`, a streamed put fails after its first bytes and everything else works. */
export function makeLocation(bucket: R2Bucket): { readonly location: SickLocation; readonly wrapped: R2Bucket } {
  const location: SickLocation = { state: 'up', calls: [] };
  const wrapped = new Proxy(bucket, {
    get: (target, name: keyof R2Bucket) => {
      const call = (key: unknown, ...rest: unknown[]) => {
        location.calls.push(name);
        if (location.state === 'down') return Promise.reject(new Error('the location is down'));
        if (location.state === 'hanging') return new Promise(() => {});
        const [body] = rest;
        if (location.state === 'broken off' && name === 'put' && body instanceof ReadableStream) return breakOff(body);
        return (target[name] as (...values: unknown[]) => unknown).call(target, key, ...rest);
      };
      return call;
    },
  });
  return { location, wrapped };
}

async function breakOff(body: ReadableStream): Promise<never> {
  const reader = body.getReader();
  await reader.read();
  await reader.cancel('broken off');
  throw new Error('the location broke off');
}
