import { expect, it } from 'vitest';
import { isWebsiteApart } from '../../../dev/deploy/website-hosts.ts';

it.each([
  ['app.example.com', 's3.example.com', false],
  ['app.example.com', 'example-files.com', true],
  ['app.example.co.uk', 's3.example.co.uk', false],
  ['app.example.co.uk', 's3.other.co.uk', true],
  ['a.workers.dev', 'b.workers.dev', true],
  ['app.internal', 's3', false],
  ['app.example.com', '', false],
])('pages of buckets are apart from an app at %s, if storage is at %s: %s', (app, storage, isApart) => {
  expect(isWebsiteApart(app, storage)).toBe(isApart);
});
