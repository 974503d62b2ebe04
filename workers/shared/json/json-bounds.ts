/** Bounds of JSON bodies before they are parsed, and of JSON answers before they are written. */
import { ANSWER_BYTES_MAX, findExceededBound, fitsJson } from '../pure/request-budget.ts';
import { err, ok, type Result } from '../pure/result.ts';
import { logError } from '../telemetry/log.ts';
import { type Problem, problem } from './problem.ts';

/** Maximum of nested arrays and objects in a JSON body. The deepest documented body has ten. */
const JSON_DEPTH_MAX = 64;
/** Maximum of values in a JSON body. A batch of 1,000 scores has about 10,000. A parsed value takes up to 50 times its bytes. */
const JSON_VALUES_MAX = 100_000;

/** Parses JSON whose depth and number of values are within bounds. @throws SyntaxError if it is not JSON. */
export function parseWithinBounds(json: Uint8Array): Result<unknown, Problem> {
  switch (findExceededBound(json, { depthMax: JSON_DEPTH_MAX, valuesMax: JSON_VALUES_MAX })) {
    case 'depthMax':
      return err(problem(400, 'bad_request', `The JSON body nests more than ${JSON_DEPTH_MAX} levels.`));
    case 'valuesMax':
      return err(problem(413, 'request_too_large', `The JSON body has more than ${JSON_VALUES_MAX} values.`));
    case null:
      return ok(JSON.parse(new TextDecoder().decode(json)));
  }
}

const ANSWER_TOO_LARGE = problem(
  413,
  'answer_too_large',
  `The answer has more than ${ANSWER_BYTES_MAX} bytes. Ask for less.`,
);

/**
 * Measures a JSON answer before it is written as text, so that no answer uses up the memory of the isolate. Answers are made to fit:
 * pages are short and texts are cut. @returns the problem to answer with if one does not fit nevertheless; else null.
 */
export function findAnswerProblem(value: unknown): Problem | null {
  if (fitsJson(value, ANSWER_BYTES_MAX)) return null;
  logError('answer_too_large', new Error('An answer exceeds its budget.'));
  return ANSWER_TOO_LARGE;
}
