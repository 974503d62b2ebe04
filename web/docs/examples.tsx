/** Shows an API operation as a curl command and as TypeScript. */
import { docsTexts } from '../shared/texts/docs.ts';
import type { Entry } from './openapi.ts';

const t = docsTexts.page;

const toBody = ({ operation }: Entry): string | null => {
  const example = operation.requestBody?.content?.['application/json']?.example;
  return example === undefined ? null : JSON.stringify(example);
};

/** Replaces path parameters with the examples of their schemas. */
const toPath = ({ path, operation }: Entry): string =>
  path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const parameter = operation.parameters?.find((one) => one.in === 'path' && one.name === name);
    return String(parameter?.schema?.example ?? whole);
  });

export function toCurl(entry: Entry, origin: string): string {
  const body = toBody(entry);
  const isOpen = entry.operation.security?.length === 0;
  return [
    `curl ${entry.method === 'get' ? '' : `-X ${entry.method.toUpperCase()} `}'${origin}${toPath(entry)}'`,
    ...(isOpen ? [] : [`-H "Authorization: Bearer $TOKEN"`]),
    ...(body === null ? [] : ["-H 'Content-Type: application/json'", `-d '${body.replaceAll("'", "'\\''")}'`]),
  ].join(' \\\n  ');
}

export function toTypeScript(entry: Entry, origin: string): string {
  const body = toBody(entry);
  const isOpen = entry.operation.security?.length === 0;
  const headers = [
    ...(isOpen ? [] : ["authorization: 'Bearer ' + token"]),
    ...(body === null ? [] : ["'content-type': 'application/json'"]),
  ];
  const options = [
    ...(entry.method === 'get' ? [] : [`  method: '${entry.method.toUpperCase()}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body === null ? [] : [`  body: JSON.stringify(${body}),`]),
  ];
  const call = `'${origin}${toPath(entry)}'${options.length === 0 ? '' : `, {\n${options.join('\n')}\n}`}`;
  return `const response = await fetch(${call});\nif (!response.ok) throw new Error((await response.json()).code);`;
}

export function Examples({ entry }: { entry: Entry }) {
  const { origin } = location;
  return (
    <details>
      <summary>{t.examples}</summary>
      <h4>curl</h4>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: code that scrolls is reached with the keyboard */}
      <pre tabIndex={0}>{toCurl(entry, origin)}</pre>
      <h4>TypeScript</h4>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: code that scrolls is reached with the keyboard */}
      <pre tabIndex={0}>{toTypeScript(entry, origin)}</pre>
    </details>
  );
}
