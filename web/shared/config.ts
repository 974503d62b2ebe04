/** Settings of the deployment that a page needs. The Worker answers `/_/config.json`. */
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
