/** Prints the Worker's log in a readable form: one line per request or event. `LOG=json` prints it unchanged. */

/** Formats a line of the log. @param message one line: JSON of the Worker, or any other text. */
export function toReadableLine(message: string, now = new Date()): string {
  const entry = parse(message);
  if (!entry) return message;
  const { level, event, ...fields } = entry;
  const time = now.toTimeString().slice(0, 8);
  if (event === 'request') {
    const { product, method, status, ms } = fields;
    return `${time} ${status} ${method} ${product} ${ms} ms`;
  }
  const { stack, ...rest } = fields;
  const details = Object.entries(rest).map(([name, value]) => `${name}=${String(value)}`);
  const line = [time, level === 'error' ? 'ERROR' : 'info', String(event), ...details].join(' ');
  return typeof stack === 'string' ? `${line}\n${stack}` : line;
}

function parse(message: string): Record<string, unknown> | null {
  if (!message.startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === 'object' && value !== null && 'event' in value ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
