/**
 * Reads the body of a POST form upload (`multipart/form-data`, RFC 7578): the fields before the file, then the file as a stream.
 * Fields after the file are ignored, as S3 does.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { BodyFailure } from '../protocol/engine-failures.ts';

/** Maximum size of the fields before the file (Amazon S3 API Reference, POST Object: up to 20 KB). */
const FIELDS_BYTES_MAX = 20 * 1024;

export interface UploadForm {
  /** Form fields by name, in lower case. A repeated field keeps its last value. */
  readonly fields: ReadonlyMap<string, string>;
  readonly fileName: string;
  readonly file: ReadableStream<Uint8Array>;
}

export async function openForm(
  contentType: string | null,
  body: ReadableStream<Uint8Array> | null,
): Promise<Result<UploadForm, S3Failure>> {
  const boundary = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType ?? '');
  if (!boundary || body === null) {
    return err(
      s3Failure('InvalidRequest', 'Bucket POST must be of the enclosure-type multipart/form-data', { status: 412 }),
    );
  }
  const delimiter = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`, 'latin1');
  const source = createBufferedReader(body);
  const fields = new Map<string, string>();
  if (!(await source.takeUntil(delimiter, FIELDS_BYTES_MAX))) return err(s3Failure('MalformedPOSTRequest'));
  let size = 0;
  for (;;) {
    const head = await source.takeUntil(CRLF, FIELDS_BYTES_MAX);
    if (!head) return err(s3Failure('MalformedPOSTRequest'));
    if (head.toString('latin1').startsWith('--')) return err(s3Failure('IncorrectNumberOfFilesInPostRequest'));
    const headers = await readPartHeaders(source);
    if (headers === null) return err(s3Failure('MalformedPOSTRequest'));
    const { name, fileName } = readDisposition(headers);
    if (name === null) return err(s3Failure('MalformedPOSTRequest'));
    if (name === 'file') return ok({ fields, fileName: fileName ?? '', file: source.streamUntil(delimiter) });
    const value = await source.takeUntil(delimiter, FIELDS_BYTES_MAX);
    if (!value) return err(s3Failure('MaxPostPreDataLengthExceededError'));
    size += name.length + value.length;
    if (size > FIELDS_BYTES_MAX) return err(s3Failure('MaxPostPreDataLengthExceededError'));
    fields.set(name, value.toString('utf8'));
  }
}

const CRLF = Buffer.from('\r\n');

async function readPartHeaders(source: BufferedReader): Promise<string[] | null> {
  const headers: string[] = [];
  for (;;) {
    const line = await source.takeUntil(CRLF, FIELDS_BYTES_MAX);
    if (line === null || headers.length > 20) return null;
    if (line.length === 0) return headers;
    headers.push(line.toString('utf8'));
  }
}

function readDisposition(headers: readonly string[]): { name: string | null; fileName: string | null } {
  const disposition = headers.find((line) => /^content-disposition:/i.test(line)) ?? '';
  const name = /[;\s]name="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? /[;\s]name=([^;\s]+)/i.exec(disposition);
  const file = /[;\s]filename="((?:[^"\\]|\\.)*)"/i.exec(disposition) ?? /[;\s]filename=([^;\s]+)/i.exec(disposition);
  return { name: name?.[1]?.toLowerCase() ?? null, fileName: file?.[1] ?? null };
}

interface BufferedReader {
  /**
   * Consumes the bytes of the form up to and including the mark, such as a boundary.
   * @returns the bytes before it; null if the mark does not follow within `bytesMax`, or at all.
   */
  takeUntil(mark: Buffer, bytesMax: number): Promise<Buffer | null>;
  /** Streams all bytes of the form before the mark. The stream fails if the body ends without the mark. */
  streamUntil(mark: Buffer): ReadableStream<Uint8Array>;
}

function createBufferedReader(body: ReadableStream<Uint8Array>): BufferedReader {
  const reader = body.getReader();
  // The first boundary has no line break before it. One is added here, so that all boundaries look the same.
  let buffer: Buffer = Buffer.from('\r\n');
  const fill = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (!done)
      buffer =
        buffer.length === 0
          ? Buffer.from(value.buffer, value.byteOffset, value.length)
          : Buffer.concat([buffer, value]);
    return !done;
  };
  return {
    async takeUntil(mark, bytesMax) {
      for (;;) {
        const at = buffer.indexOf(mark);
        if (at >= 0) {
          const taken = buffer.subarray(0, at);
          buffer = buffer.subarray(at + mark.length);
          return taken;
        }
        if (buffer.length > bytesMax || !(await fill())) return null;
      }
    },
    streamUntil: (mark) =>
      new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            for (;;) {
              const at = buffer.indexOf(mark);
              if (at >= 0) {
                if (at > 0) controller.enqueue(buffer.subarray(0, at));
                controller.close();
                // The bytes after the file are ignored, but they must be read so that the connection can be reused.
                while (!(await reader.read()).done);
                return;
              }
              // The last bytes of the buffer may be the start of the mark, so they are kept back.
              const safe = buffer.length - mark.length + 1;
              if (safe > 0) {
                controller.enqueue(buffer.subarray(0, safe));
                buffer = buffer.subarray(safe);
                return;
              }
              if (!(await fill())) {
                controller.error(new BodyFailure(s3Failure('IncompleteBody')));
                return;
              }
            }
          },
          cancel: (reason) => reader.cancel(reason),
        },
        { highWaterMark: 0 },
      ),
  };
}
