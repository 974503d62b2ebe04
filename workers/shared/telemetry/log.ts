/**
 * Structured logs: one JSON object per line. Never pass query strings, bodies, mail addresses, tokens or keys: logs may
 * be kept for long and read by many.
 */
import { countError } from './counters.ts';
import { currentInvocation } from './invocation.ts';

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function logInfo(event: string, fields: LogFields = {}): void {
  console.log(JSON.stringify({ level: 'info', event, ...traceFields(), ...fields }));
}

/** Logs an error. @param error the thrown value. Its message and stack are logged without the values of a query. */
export function logError(event: string, error: unknown, fields: LogFields = {}): void {
  const cause =
    error instanceof Error
      ? { message: redact(error.message), stack: redact(error.stack) }
      : { message: redact(String(error)) };
  console.error(JSON.stringify({ level: 'error', event, ...traceFields(), ...fields, ...cause }));
  countError(event);
}

/** The trace id of the running event, as a field of log lines. */
function traceFields(): LogFields {
  const invocation = currentInvocation();
  return invocation === undefined ? {} : { trace_id: invocation.traceId };
}

/** Removes the values of a query from a database's error, because they may be mail addresses or names. */
const redact = (text = ''): string => text.replace(/\nparams: .*?(?=\n {4}at |$)/gs, '');
