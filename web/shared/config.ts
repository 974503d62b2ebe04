/** Settings of the deployment that a page needs. The Worker answers `/_/config.json`. */
import { useEffect, useState } from 'react';
import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { callJson } from './api.ts';

let loading: Promise<WebConfig> | null = null;

export function loadConfig(): Promise<WebConfig> {
  loading ??= callJson<WebConfig>('/_/config.json').catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** Returns the configuration; null until it is loaded, and if it cannot be loaded. */
export function useConfig(): WebConfig | null {
  const [config, setConfig] = useState<WebConfig | null>(null);
  useEffect(() => {
    loadConfig().then(setConfig, () => setConfig(null));
  }, []);
  return config;
}

/** Whether to show a product. While the configuration is unknown, all are shown. */
export const isServed = (config: WebConfig | null, product: string): boolean =>
  config === null || (config.products as string[]).includes(product);
