import { describe, expect, it } from 'vitest';
import {
  type ApiDocument,
  findBreakingChanges,
  judgeChanges,
  readAcceptedChanges,
} from '../../../dev/generate/api-changes.ts';
import { listReleases, readReleasedDocument } from '../../../dev/generate/api-document.ts';

const text = readReleasedDocument(listReleases().at(-1) ?? '');
const read = () => JSON.parse(text);
/**
 * Compares a document with a changed copy.
 * @param change edits the copy.
 * @returns the breaking changes from the document to the copy.
 */
const changesAfter = (change: (document: ReturnType<typeof read>) => void): string[] => {
  const changed = read();
  change(changed);
  return findBreakingChanges(read() as ApiDocument, changed);
};

describe('the comparison of two API documents', () => {
  it('finds nothing in equal documents', () => {
    expect(changesAfter(() => undefined)).toEqual([]);
  });
  it('finds an operation, a parameter and an answer that are gone', () => {
    expect(changesAfter(({ paths }) => delete paths['/v1/scores'].post)).toEqual(['POST /v1/scores is gone.']);
    expect(
      changesAfter(({ paths }) => {
        const { get } = paths['/v1/scores'];
        get.parameters = get.parameters.filter(({ name }: { name: string }) => name !== 'limit');
      }),
    ).toEqual(['GET /v1/scores: the query parameter limit is refused now.']);
    expect(changesAfter(({ paths }) => delete paths['/v1/health'].get.responses[200])).toEqual([
      'GET /v1/health: the answer 200 is gone.',
    ]);
  });
  it('finds members that a request must have or may not have, behind a reference', () => {
    expect(
      changesAfter(({ components }) => {
        components.schemas.Health.properties.region = { type: 'string' };
        components.schemas.Health.required.push('region');
      }),
    ).toEqual([]);
    const changes = changesAfter(({ paths, components }) => {
      const body = paths['/v1/scores'].post.requestBody.content['application/json'].schema;
      const schema = body.$ref ? components.schemas[body.$ref.split('/').at(-1)] : body;
      schema.required.push('event_id');
      delete schema.properties.user_name;
      schema.properties.points.maximum = 10;
    });
    expect(changes).toContain('POST /v1/scores: event_id in the body is required now.');
    expect(changes).toContain('POST /v1/scores: user_name in the body is refused now.');
    expect(changes).toContain('POST /v1/scores: maximum of points in the body is 10 now.');
  });
  it('finds members of an answer that are gone, optional or of another type', () => {
    expect(
      changesAfter(({ components }) => {
        const { Health } = components.schemas;
        delete Health.properties.status;
        Health.required = ['warnings'];
        Health.properties.version.type = ['string', 'null'];
      }),
    ).toEqual([
      'GET /v1/health: status in the answer 200 is gone.',
      'GET /v1/health: version in the answer 200 may be absent now.',
      'GET /v1/health: version in the answer 200 may be null now.',
    ]);
  });
});

describe('the gate', () => {
  const [gone, lower] = ['GET /v1/a is gone.', 'GET /v1/b: maximum of the query parameter limit is 10 now.'];
  const changelog = `# Changelog

## 0.3.0, unreleased

### Breaking changes of the API

- \`${gone}\` Use GET /v1/c.

### Mail

- \`GET /v1/d is gone.\`

## 0.2.0, 2026-11-23

### Breaking changes of the API

- \`${lower}\` Earlier.
`;
  it('passes only breaking changes that the newest section of the changelog lists', () => {
    expect(readAcceptedChanges(changelog)).toEqual([gone]);
    expect(judgeChanges([gone], readAcceptedChanges(changelog))).toEqual([]);
    expect(judgeChanges([gone, lower], readAcceptedChanges(changelog))).toEqual([
      `not listed in CHANGELOG.md: ${lower}`,
    ]);
    expect(judgeChanges([gone], readAcceptedChanges('# Changelog\n\n## 0.3.0, unreleased\n'))).toHaveLength(1);
  });
  it('fails on a listed change that is none, as after a correction', () => {
    expect(judgeChanges([], [gone])).toEqual([`listed in CHANGELOG.md, but not a change: ${gone}`]);
  });
});
