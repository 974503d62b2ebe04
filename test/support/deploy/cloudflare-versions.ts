/**
 * Versions and deployments of the stand-in for Cloudflare's API. It refuses what the platform refuses:
 * https://developers.cloudflare.com/workers/versions-and-deployments/gradual-deployments/ and …/rollbacks/.
 */
import { type CloudflareState, newScript, type Script } from './cloudflare-state.ts';

export type ApiAnswer = {
  readonly status?: number;
  readonly result?: unknown;
  readonly code?: number;
  readonly message?: string;
};

export type Handler = (call: Call) => ApiAnswer;

export interface Call {
  readonly state: CloudflareState;
  readonly method: string;
  readonly url: URL;
  readonly body: string;
  /** Prefix of bucket names in the state: '' or, in the jurisdiction EU, `eu/`. */
  readonly bucketPrefix: string;
  /** Parts of the path that the route's pattern captures. */
  readonly parts: readonly string[];
}

export const UNKNOWN_SCRIPT: ApiAnswer = {
  status: 404,
  code: 10007,
  message: 'This Worker does not exist on your account.',
};
export const NOT_FOUND: ApiAnswer = { status: 404, code: 7404, message: 'Not found' };

export const parse = <T>(body: string): T => JSON.parse(body) as T;

const TO_ALL = 100;
/** Versions that a deployment may have, and versions that may be deployed again. */
const VERSIONS_MAX = 2;
const DEPLOYABLE_MAX = 100;

const refuse = (message: string, code = 10021): ApiAnswer => ({ status: 400, code, message });

export function listDeployments({ state, parts: [name = ''] }: Call): ApiAnswer {
  const script = state.scripts.get(name);
  if (!script) return UNKNOWN_SCRIPT;
  return { result: { deployments: script.deployments.map(toDeployment) } };
}

const toDeployment = (deployment: Script['deployments'][number]) => ({
  ...deployment,
  strategy: 'percentage',
  source: 'api',
  author_email: 'test@example.com',
  created_on: new Date(0).toISOString(),
  annotations: {},
});

const toVersion = ({ id, tag }: Script['versions'][number], number: number) => ({
  id,
  number,
  metadata: { created_on: new Date(0).toISOString(), source: 'api', author_email: 'test@example.com' },
  annotations: tag ? { 'workers/tag': tag } : {},
  resources: { script: { etag: 'e', handlers: ['fetch'] }, script_runtime: {}, bindings: [] },
});

export function listVersions({ state, parts: [name = ''] }: Call): ApiAnswer {
  const script = state.scripts.get(name);
  return script ? { result: { items: script.versions.map(toVersion).reverse() } } : UNKNOWN_SCRIPT;
}

export function showVersion({ state, parts: [name = '', id = ''] }: Call): ApiAnswer {
  const versions = state.scripts.get(name)?.versions ?? [];
  const at = versions.findIndex((version) => version.id === id);
  const [found] = versions.slice(at, at + 1);
  return at === -1 || found === undefined ? NOT_FOUND : { result: toVersion(found, at + 1) };
}

/** Splits the traffic between one or two versions that have the same object classes, and no others than the Worker has now. */
export function createDeployment({ state, body, parts: [name = ''] }: Call): ApiAnswer {
  const script = state.scripts.get(name);
  if (!script) return UNKNOWN_SCRIPT;
  const { versions } = parse<Script['deployments'][number]>(body);
  const deployable = script.versions.slice(-DEPLOYABLE_MAX);
  const chosen = versions.map(({ version_id }) => deployable.find(({ id }) => id === version_id));
  if (versions.length === 0 || versions.length > VERSIONS_MAX) return refuse('A deployment has one or two versions');
  if (chosen.includes(undefined)) return refuse('The version does not exist or is not deployable');
  if (versions.reduce((sum, { percentage }) => sum + percentage, 0) !== TO_ALL)
    return refuse('The percentages of a deployment add up to 100');
  if (chosen.some((version) => version?.migrationTag !== script.migrationTag))
    return refuse('A Durable Object migration has occurred between the versions');
  deployTo(script, versions);
  return { result: script.deployments[0] };
}

const deployTo = (script: Script, versions: Script['deployments'][number]['versions']): void =>
  void script.deployments.unshift({ id: `deployment-${script.deployments.length + 1}`, versions });

interface UploadMetadata {
  readonly bindings?: { name: string; type: string; text?: string }[];
  readonly annotations?: Record<string, string>;
  readonly migrations?: { readonly old_tag?: string; readonly new_tag?: string };
}

/**
 * Stores the bindings, secrets and tag of an uploaded Worker. Secrets that the upload does not name are kept. An upload as a version
 * is not deployed, and may not have a migration of object classes.
 */
export function upload({ state, url, body, parts: [name = ''] }: Call): ApiAnswer {
  const metadata = /name="metadata"[^\r]*\r\n(?:[^\r]+\r\n)*\r\n(.*?)\r\n--/s.exec(body)?.[1] ?? '{}';
  const { bindings = [], annotations, migrations } = parse<UploadMetadata>(metadata);
  const script = state.scripts.get(name) ?? newScript();
  const isVersion = url.pathname.endsWith('/versions');
  if (migrations && isVersion)
    return refuse('Migrations must be fully applied by running "wrangler deploy", not with a version', 10211);
  if (migrations && migrations.old_tag !== script.migrationTag)
    return { status: 412, code: 10079, message: `The migration tag of this Worker is ${script.migrationTag}.` };
  script.migrationTag = migrations?.new_tag ?? script.migrationTag;
  for (const { name: secret, type, text } of bindings)
    if (type === 'secret_text') script.secrets.set(secret, text ?? '');
  script.bindings = bindings.filter(({ type }) => type !== 'secret_text' && type !== 'inherit');
  script.uploads++;
  const id = `version-${script.uploads}`;
  script.versions.push({ id, tag: annotations?.['workers/tag'], migrationTag: script.migrationTag });
  if (!isVersion) deployTo(script, [{ version_id: id, percentage: TO_ALL }]);
  state.scripts.set(name, script);
  const version = { id, resources: { script: { etag: 'e' } }, metadata: { has_preview: false } };
  const answer = isVersion ? version : { id: name, deployment_id: 'd', tag: 't' };
  return { result: { ...answer, startup_time_ms: 100, default_environment: {} } };
}
