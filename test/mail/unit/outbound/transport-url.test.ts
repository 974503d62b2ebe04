import { describe, expect, it } from 'vitest';
import { hidePassword, parseTransport, withCredentials } from '../../../../workers/mail/domain/transport-url.ts';

describe('a transport', () => {
  const smtp = (more: object) => ({
    kind: 'smtp',
    hostname: 'relay.test',
    port: 587,
    tls: 'opportunistic',
    auth: null,
    ...more,
  });
  it.each([
    ['email-service', { kind: 'email-service' }],
    ['smtp://relay.test', smtp({})],
    ['smtp://relay.test:2525', smtp({ port: 2525 })],
    ['smtp://relay.test?tls=off', smtp({ tls: 'off' })],
    ['smtp://relay.test?tls=required', smtp({ tls: 'required' })],
    ['smtps://relay.test', smtp({ port: 465, tls: 'implicit' })],
    ['smtps://relay.test:587', smtp({ tls: 'implicit' })],
    ['smtp://a%40b:c%3Ad@relay.test', smtp({ auth: { user: 'a@b', password: 'c:d' } })],
    ['smtp://a@relay.test?tls=required', smtp({ tls: 'required', auth: { user: 'a', password: '' } })],
  ])('%s is %j', (text, expected) => {
    expect(parseTransport(text)).toEqual(expected);
  });
  it.each([
    ['relay', 'neither email-service nor a URL like smtp://host:587'],
    ['http://relay.test', 'the scheme must be smtp or smtps'],
    ['smtp:relay.test', 'the host is missing'],
    ['smtp://relay.test:25', 'Workers cannot connect to port 25; use the submission port of a relay'],
    ['smtps://relay.test:25', 'Workers cannot connect to port 25; use the submission port of a relay'],
    ...['smtps://smtp.mx.cloudflare.net', 'smtps://api_token:x@SMTP.mx.cloudflare.net:465'].map((url) => [
      url,
      'smtp.mx.cloudflare.net answers 250 and drops mail to suppressed addresses; use email-service',
    ]),
    ['smtp://relay.test?tls=maybe', 'tls must be one of off, opportunistic, required'],
    ['smtp://%ff@relay.test', 'user and password must be percent-encoded'],
    ['smtp://a:%ff@relay.test', 'user and password must be percent-encoded'],
    ['smtp://a:b@relay.test?tls=off', 'a password requires TLS: remove tls=off'],
  ])('%s is rejected: %s', (text, fault) => {
    expect(parseTransport(text)).toBe(fault);
  });
  it('stays as it is without a user', () => {
    expect(withCredentials('smtps://relay.test', '', 'secret')).toBe('smtps://relay.test');
  });
  it('is displayed without its password', () => {
    expect(hidePassword('smtps://a:b@relay.test:465')).toBe('smtps://a:…@relay.test:465');
    expect(hidePassword('smtp://relay.test:587')).toBe('smtp://relay.test:587');
  });
});
