/** Access to the namespaces of Durable Objects, in the jurisdiction of the deployment. */
import { withTrace } from './invocation.ts';
import { settingsOf } from './settings.ts';

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
  return withTrace(kept.get(kept.idFromName(name), counted));
}
