/** Makes the text of docs/errors.md from the problem codes and the S3 error table. */

import type { ProblemCodeTable } from '../../workers/shared/json/problem-codes/entry.ts';
import { PROBLEM_CODES_BY_PART } from '../../workers/shared/json/problem-codes/index.ts';
import { S3_ERRORS, type S3ErrorCode } from '../../workers/storage/domain/error-codes.ts';
import { S3_ERROR_ADVICE } from './s3-error-advice.ts';

const INTRODUCTION = `# Errors

Written by \`npm run generate\` from \`workers/shared/json/problem-codes/\`, \`workers/storage/domain/error-codes.ts\` and
\`dev/generate/s3-error-advice.ts\`. Do not edit.

Every answer has an \`x-request-id\`. The log has the same id. 429 has \`Retry-After\`; most 503 have it too.

## JSON APIs

An error of \`/v1\` is \`application/problem+json\` (RFC 9457): \`{type, title, status, detail, code, request_id}\`, and for bad
input \`errors: [{path, message}]\`. Programs decide by \`code\`; texts may change. In a batch, each result that failed has the
same form.`;

const S3_INTRODUCTION = `## S3 errors

Storage answers with the XML error document of Amazon S3: \`Code\`, \`Message\`, \`Resource\`, \`RequestId\` and, for some codes,
more elements. HEAD has no body. The messages are S3's usual ones; an answer may have a more exact one.`;

const toCell = (text: string): string => text.replace(/\|/g, '\\|').replace(/\s+/g, ' ');

const toTable = (rows: readonly (readonly string[])[]): string =>
  [['code', 'status', 'meaning', 'what to do'], ['---', '---', '---', '---'], ...rows]
    .map((row) => `| ${row.map(toCell).join(' | ')} |`)
    .join('\n');

const toProblemTable = (codes: ProblemCodeTable): string =>
  toTable(
    Object.entries(codes).map(([code, { statuses, meaning, action }]) => [
      `\`${code}\``,
      statuses.join(', '),
      meaning,
      action,
    ]),
  );

function toS3Table(): string {
  const codes = (Object.keys(S3_ERRORS) as S3ErrorCode[]).sort();
  return toTable(
    codes.map((code) => {
      const [status, message] = S3_ERRORS[code];
      return [`\`${code}\``, String(status), message, S3_ERROR_ADVICE[code]];
    }),
  );
}

export function toErrorsPage(): string {
  const parts = Object.entries(PROBLEM_CODES_BY_PART).map(([part, codes]) => `### ${part}\n\n${toProblemTable(codes)}`);
  return `${[INTRODUCTION, ...parts, S3_INTRODUCTION, toS3Table()].join('\n\n')}\n`;
}
