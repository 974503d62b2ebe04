/** Waits until both hosts of a deployment answer, and checks its health. */
import { DeployError, reasonOf } from './cloudflare-api.ts';

/**
 * Maximum of attempts until a host has a certificate. Cloudflare issues the certificate of a new custom domain after the
 * deployment, usually within minutes.
 */
const CERTIFICATE_ATTEMPTS = 180;
/** Maximum of attempts until a deployment is healthy. A new version takes some seconds to reach all data centres. */
const HEALTH_ATTEMPTS = 10;
const PAUSE_MS = 5_000;

/**
 * Lowest of the statuses (52x and 530) with which Cloudflare's edge answers while a host has no certificate or no DNS record yet.
 */
const EDGE_STATUS_MIN = 520;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** Requests a URL once. @returns the response, or the reason why there is none. */
async function request(url: string): Promise<Response | string> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(30_000) });
    return response.status >= EDGE_STATUS_MIN ? `status ${response.status}` : response;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Waits until the host has a certificate. @throws DeployError if it has none after a quarter of an hour. */
async function waitForHost(host: string, url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const answer = await request(url);
    if (typeof answer !== 'string') {
      await answer.body?.cancel();
      return;
    }
    if (attempt === CERTIFICATE_ATTEMPTS)
      throw new DeployError(
        `Deployed, but https://${host} does not answer after 15 minutes (${answer}). See the certificate under SSL/TLS > Edge Certificates in the dashboard, and run the command again.`,
      );
    if (attempt === 1)
      console.log(
        `Waiting for the certificate and the DNS record of ${host} (${answer}). This can take several minutes.`,
      );
    else if (attempt % 12 === 0) console.log(`Still waiting for ${host} (${answer}).`);
    await pause();
  }
}

/**
 * Checks the health of a deployment.
 * @param hosts APP_HOST and S3_HOST.
 * @param toOrigin maps a host to an origin: in production `https://` and the host.
 * @throws DeployError that names the unhealthy parts.
 */
export async function checkHealth(
  [appHost = '', storageHost = '']: readonly string[],
  toOrigin: (host: string) => string,
): Promise<void> {
  const url = `${toOrigin(appHost)}/v1/health`;
  await waitForHost(appHost, url);
  await waitForHost(storageHost, `${toOrigin(storageHost)}/`);
  for (let attempt = 1; ; attempt++) {
    const answer = await request(url);
    const report = typeof answer === 'string' ? answer : (await answer.text()).trim();
    if (typeof answer !== 'string' && answer.ok) return console.log(`https://${appHost}/v1/health: ${report}`);
    if (attempt === HEALTH_ATTEMPTS)
      throw new DeployError(`Deployed, but https://${appHost}/v1/health is not healthy: ${report}`);
    await pause();
  }
}
