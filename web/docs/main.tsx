/**
 * `/_/docs`: the guides of `docs/`, and the API reference. It shows `/v1/openapi.json`, which is generated from the schemas that validate
 * requests.
 */
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { callJson, describeError } from '../shared/api.ts';
import { mount, Rail } from '../shared/page.tsx';
import { texts } from '../shared/texts/index.ts';
import './docs.css';
import { Examples } from './examples.tsx';
import { GUIDES, GuideView, isGuide, toGuideHash } from './guide.tsx';
import {
  describeLimits,
  describeType,
  type Entry,
  groupEntries,
  membersOf,
  type OpenApi,
  type Schema,
} from './openapi.ts';

const { docs: t } = texts.app;
const DEPTH_MAX = 4;

interface MembersProps {
  document: OpenApi;
  schema: Schema;
  /** Required members are marked in requests only, because answers always contain all members. */
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
          {required && isRequest && <span className="badge">required</span>}
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
          <h4>Parameters</h4>
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
          <h4>Request</h4>
          <Body document={document} content={operation.requestBody.content} isRequest />
        </>
      )}
      <Examples entry={entry} />
      <h4>Answers</h4>
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

/** Explains the problem in `#problem-<code>`. The `type` of a problem links to it. */
function ProblemNote() {
  const code = /^#problem-([a-z0-9_]+)$/.exec(location.hash)?.[1];
  return (
    <section id="problems" className="card stack">
      <h2>Errors</h2>
      {code && (
        <p>
          You came here from a problem with the code <code>{code}</code>. Its <code>detail</code> says what was wrong
          with that one request.
        </p>
      )}
      <p>
        Every error is <code>application/problem+json</code> (RFC 9457):{' '}
        <code>{'{type, title, status, detail, code, request_id}'}</code>, and for bad input{' '}
        <code>{'errors: [{path, message}]'}</code>. A program looks at <code>code</code>. Tell the operator the{' '}
        <code>request_id</code> when you ask about one. <code>429</code> and <code>503</code> say in{' '}
        <code>Retry-After</code> when to come back.
      </p>
      <p>
        Collections page with <code>limit</code> and <code>cursor</code>; the answer holds <code>data</code> and{' '}
        <code>next_cursor</code>, null at the end. Storage itself speaks Amazon S3&rsquo;s REST API at the root of this
        server and is not listed here.
      </p>
    </section>
  );
}

/** The fragment of the address: a guide, an operation or a problem. */
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
  const guide = isGuide(guideName) ? guideName : null;
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
            <a href="#reference">{texts.app.pages.docs}</a>
          </h2>
          <input
            type="search"
            placeholder="Filter"
            aria-label="Filter operations"
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
              <h1>API reference</h1>
              <p className="muted">
                The JSON APIs under <code>{location.origin}/v1</code>.{' '}
                <a href="/v1/openapi.json">OpenAPI 3.1 document</a>
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

mount(<Docs />);
