/**
 * `/_/docs`: the guides of `docs/`, and the API reference. It shows `/v1/openapi.json`, which is generated from the schemas that
 * validate requests.
 */
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { callJson, describeError } from '../shared/api.ts';
import { mount, Rail } from '../shared/page.tsx';
import { docsTexts } from '../shared/texts/docs.ts';
import './docs.css';
import { fillNodes } from '../shared/texts/index.ts';
import { Examples } from './examples.tsx';
import { findGuide, GUIDES, GuideView, toGuideHash } from './guide.tsx';
import {
  describeLimits,
  describeType,
  type Entry,
  groupEntries,
  membersOf,
  type OpenApi,
  type Schema,
} from './openapi.ts';

const t = docsTexts.page;
const DEPTH_MAX = 4;

interface MembersProps {
  document: OpenApi;
  schema: Schema;
  /** Whether to mark required members. Only schemas of requests need the marks: answers always contain all members. */
  isRequest: boolean;
  depth?: number;
}

function Members({ document, schema, isRequest, depth = 0 }: MembersProps) {
  const members = membersOf(document, schema);
  if (members.length === 0 || depth > DEPTH_MAX) return null;
  return (
    <ul className="members">
      {members.map(([name, member, required]) => (
        <li key={name}>
          <code className="member">{name}</code> <span className="muted small">{describeType(document, member)}</span>
          {required && isRequest && <span className="badge">{t.required}</span>}
          <span className="muted small"> {describeLimits(member)}</span>
          {member.description && <div className="small">{member.description}</div>}
          <Members document={document} schema={member} isRequest={isRequest} depth={depth + 1} />
        </li>
      ))}
    </ul>
  );
}

interface BodyProps {
  document: OpenApi;
  content: Record<string, { schema?: Schema }> | undefined;
  isRequest?: boolean;
}

function Body({ document, content, isRequest = false }: BodyProps) {
  return Object.entries(content ?? {}).map(([type, { schema }]) => (
    <div key={type}>
      <p className="small">
        <code>{type}</code> {schema && <span className="muted">{describeType(document, schema)}</span>}
      </p>
      {schema && !type.includes('problem') && <Members document={document} schema={schema} isRequest={isRequest} />}
    </div>
  ));
}

function OperationView({ document, entry }: { document: OpenApi; entry: Entry }) {
  const { operation, method, path } = entry;
  return (
    <article id={entry.id} className="operation" aria-labelledby={`${entry.id}-name`}>
      <h3 id={`${entry.id}-name`}>
        <span className={`method ${method}`}>{method.toUpperCase()}</span> <code>{path}</code>
      </h3>
      {operation.summary && <p>{operation.summary}</p>}
      {operation.description && <p className="muted">{operation.description}</p>}
      {operation.parameters && operation.parameters.length > 0 && (
        <>
          <h4>{t.parameters}</h4>
          <ul className="members">
            {operation.parameters.map((parameter) => (
              <li key={`${parameter.in}.${parameter.name}`}>
                <code className="member">{parameter.name}</code>{' '}
                <span className="muted small">
                  {parameter.in}, {describeType(document, parameter.schema ?? {})}{' '}
                  {describeLimits(parameter.schema ?? {})}
                </span>
                {parameter.description && <div className="small">{parameter.description}</div>}
              </li>
            ))}
          </ul>
        </>
      )}
      {operation.requestBody && (
        <>
          <h4>{t.request}</h4>
          <Body document={document} content={operation.requestBody.content} isRequest />
        </>
      )}
      <Examples entry={entry} />
      <h4>{t.answers}</h4>
      {Object.entries(operation.responses ?? {}).map(([status, response]) => (
        <details key={status} open={status.startsWith('2')}>
          <summary>
            <code>{status}</code> {response.description}
          </summary>
          <Body document={document} content={response.content} />
        </details>
      ))}
    </article>
  );
}

/** Explains the problem code in the fragment `#problem-<code>`. The `type` member of an API error links there. */
function ProblemNote() {
  const code = /^#problem-([a-z0-9_]+)$/.exec(location.hash)?.[1];
  return (
    <section id="problems" className="card stack">
      <h2>{t.errors}</h2>
      {code && <p>{fillNodes(t.fromProblem, { code: <code>{code}</code>, detail: <code>detail</code> })}</p>}
      <p>
        {fillNodes(t.errorsText, {
          type: <code>application/problem+json</code>,
          shape: <code>{'{type, title, status, detail, code, request_id}'}</code>,
          list: <code>{'errors: [{path, message}]'}</code>,
          member: <code>code</code>,
          requestId: <code>request_id</code>,
          tooMany: <code>429</code>,
          down: <code>503</code>,
          header: <code>Retry-After</code>,
        })}
      </p>
      <p>
        {fillNodes(t.collectionsText, {
          limit: <code>limit</code>,
          cursor: <code>cursor</code>,
          data: <code>data</code>,
          nextCursor: <code>next_cursor</code>,
        })}
      </p>
    </section>
  );
}

/** The fragment of the page's address: the name of a guide, an operation or a problem. */
function useFragment(): string {
  return useSyncExternalStore(
    (listener) => {
      addEventListener('hashchange', listener);
      return () => removeEventListener('hashchange', listener);
    },
    () => decodeURIComponent(location.hash.slice(1)),
  );
}

function Docs() {
  const fragment = useFragment();
  const [, guideName = '', anchor = ''] = /^guide\/([^/]+)(?:\/(.*))?$/.exec(fragment) ?? [];
  const guide = findGuide(guideName);
  const [document, setDocument] = useState<OpenApi | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [filter, setFilter] = useState('');
  const words = useDeferredValue(filter);
  useEffect(() => {
    callJson<OpenApi>('/v1/openapi.json').then(setDocument, (cause: unknown) => setError(describeError(cause)));
  }, []);
  const groups = useMemo(() => (document ? groupEntries(document, words) : []), [document, words]);
  useEffect(() => {
    if (document && guide === null) globalThis.document.getElementById(fragment)?.scrollIntoView();
  }, [document, guide, fragment]);
  return (
    <>
      <Rail current="docs" />
      <div className="docs">
        <nav className="docs-nav" aria-label={t.nav}>
          <h2>{t.guidesTitle}</h2>
          <ul className="guides">
            {GUIDES.map((name) => (
              <li key={name}>
                <a href={toGuideHash(name)} aria-current={name === guide ? 'page' : undefined}>
                  {t.guides[name]}
                </a>
              </li>
            ))}
          </ul>
          <h2>
            <a href="#reference">{t.title}</a>
          </h2>
          <input
            type="search"
            placeholder={t.filter}
            aria-label={t.filterOperations}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
          {groups.map(([group, entries]) => (
            <section key={group}>
              <h2>{group}</h2>
              <ul>
                {entries.map((entry) => (
                  <li key={entry.id}>
                    <a href={`#${entry.id}`}>
                      <span className={`method ${entry.method}`}>{entry.method.toUpperCase()}</span>
                      <span className="ellipsis">{entry.path.replace('/v1', '')}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </nav>
        <main id="main" className="docs-main">
          {guide ? (
            <GuideView key={guide} guide={guide} anchor={anchor} />
          ) : (
            <>
              <h1>{t.title}</h1>
              <p className="muted">
                {fillNodes(t.about, {
                  address: <code>{location.origin}/v1</code>,
                  link: <a href="/v1/openapi.json">{t.openApi}</a>,
                })}
              </p>
              {error && <p className="error-box">{error}</p>}
              <ProblemNote />
              {document &&
                groups.map(([group, entries]) => (
                  <section key={group} aria-label={group}>
                    <h2 className="group">{group}</h2>
                    {entries.map((entry) => (
                      <OperationView key={entry.id} document={document} entry={entry} />
                    ))}
                  </section>
                ))}
            </>
          )}
        </main>
      </div>
    </>
  );
}

mount(<Docs />, 'docs');
