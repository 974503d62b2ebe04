/** What the page must know of the deployment it came from (`/_/config.json`, answered by the Worker). */
import type { WebConfig } from '../../workers/shared/web-config.ts';
import { callJson } from './api.ts';

let loading: Promise<WebConfig> | null = null;

export function loadConfig(): Promise<WebConfig> {
  loading ??= callJson<WebConfig>('/_/config.json').catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}
