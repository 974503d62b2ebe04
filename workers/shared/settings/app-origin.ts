import { MisconfiguredError, settingsOf } from './settings.ts';

/**
 * The origin of the web app, for links in mail and for passkeys. Production never derives it from the request, whose Host
 * the sender chooses.
 * @param url URL of the request. Only a local server uses it.
 * @throws MisconfiguredError in production if APP_HOST is not set.
 */
export function appOrigin(env: Env, url: string): string {
  const { APP_HOST: appHost, LOCAL: local } = settingsOf(env);
  if (local === '1') {
    const origin = new URL(url);
    if (appHost !== '') origin.hostname = appHost;
    return origin.origin;
  }
  if (appHost === '') throw new MisconfiguredError({ name: 'APP_HOST', message: 'is missing' });
  return `https://${appHost}`;
}
