/** Access to the namespaces of Durable Objects, in the jurisdiction of the deployment. */

import { settingsOf } from '../settings/settings.ts';
import { withTrace } from '../telemetry/invocation.ts';

/**
 * Returns a namespace in the deployment's jurisdiction. The same name is another object in each jurisdiction, so every access to a
 * namespace must use this function. https://developers.cloudflare.com/durable-objects/reference/data-location/
 */
export function inJurisdiction<T extends Rpc.DurableObjectBranded | undefined>(
  env: Env,
  namespace: DurableObjectNamespace<T>,
): DurableObjectNamespace<T> {
  const { JURISDICTION: jurisdiction } = settingsOf(env);
  return jurisdiction === '' ? namespace : namespace.jurisdiction(jurisdiction);
}

/**
 * Returns the stub of the object with a name. Its calls carry the trace id of the running event.
 * @param options a location hint applies only without a jurisdiction.
 */
export function openObject<T extends Rpc.DurableObjectBranded | undefined>(
  env: Env,
  namespace: DurableObjectNamespace<T>,
  name: string,
  options: DurableObjectNamespaceGetDurableObjectOptions = {},
): DurableObjectStub<T> {
  const kept = inJurisdiction(env, namespace);
  const counted = settingsOf(env).JURISDICTION === '' ? options : {};
  return withTrace(kept.get(idOf(kept, name), counted));
}

/** The ids of objects by name: deriving one takes 2% of the time of a post. */
const ids = new WeakMap<object, Map<string, DurableObjectId>>();
const IDS_MAX = 1_000;

function idOf<T extends Rpc.DurableObjectBranded | undefined>(namespace: DurableObjectNamespace<T>, name: string) {
  const known = ids.get(namespace) ?? new Map<string, DurableObjectId>();
  const before = known.get(name);
  if (before !== undefined) return before;
  if (known.size >= IDS_MAX) known.clear();
  const id = namespace.idFromName(name);
  ids.set(namespace, known.set(name, id));
  return id;
}

/**
 * Whether a call failed because the object lacks it. The platform lets an active object run the code of the release before for some
 * minutes after a deployment.
 */
export const isMissingCall = (error: unknown): boolean =>
  error instanceof Error && /no call is named|does not implement the method/.test(error.message);
