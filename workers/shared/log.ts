/**
 * Structured logs: one JSON object a line. Never pass query strings, bodies, mail addresses, tokens or keys: what is
 * logged here may be kept for long and read by many.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function logInfo(event: string, fields: LogFields = {}): void {
  console.log(JSON.stringify({ level: 'info', event, ...fields }));
}

/** @param error what was thrown; its message and stack are kept, for the operator only, without the values of a query. */
export function logError(event: string, error: unknown, fields: LogFields = {}): void {
  const cause =
    error instanceof Error
      ? { message: redact(error.message), stack: redact(error.stack) }
      : { message: redact(String(error)) };
  console.error(JSON.stringify({ level: 'error', event, ...fields, ...cause }));
}

/** A database's error repeats the values of its query, mail addresses and names among them. */
const redact = (text = ''): string => text.replace(/\nparams: .*?(?=\n {4}at |$)/gs, '');
