/** Decides which clients can be authenticated by their address. Pure. */

/**
 * Address ranges that are not public: loopback, private, link-local and carrier-grade NAT (RFC 6890). They belong to gateways and
 * tests, which DNS cannot authenticate.
 */
const PRIVATE_V4 =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./;
const PRIVATE_V6 = /^(?:::1?$|fc|fd|fe[89ab])/i;

export function isPublicIp(text: string): boolean {
  const ip = text.replace(/^::ffff:(?=\d+\.)/i, '').replace(/^IPv6:/i, '');
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(ip)) return !PRIVATE_V4.test(ip);
  return ip.includes(':') && /^[\da-f:.]+$/i.test(ip) && !PRIVATE_V6.test(ip);
}
