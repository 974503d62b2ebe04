/**
 * Whether the service may call a URL that a client gave: only HTTPS to a public name, so that no client reaches addresses inside
 * a network through the service.
 * @param isLocal allows plain HTTP to 127.0.0.1, for tests.
 */
export function isOutsideUrl(url: string, isLocal: boolean): boolean {
  if (!URL.canParse(url) || url.length > 2_000) return false;
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== '' || password !== '') return false;
  if (isLocal && protocol === 'http:' && hostname === '127.0.0.1') return true;
  const isName = /^(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*$/.test(hostname);
  return (
    protocol === 'https:' && isName && !/(?:^|\.)(?:localhost|local|internal|home\.arpa|onion|invalid)$/.test(hostname)
  );
}
