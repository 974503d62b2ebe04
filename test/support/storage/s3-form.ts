/** Makes the body of a browser's upload form (POST policy), signed with SigV4. */
import { createHmac } from 'node:crypto';

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

export const FORM_TYPE = 'multipart/form-data; boundary=b';

export interface SignedForm {
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Returns the conditions of the policy. @param base form fields of the signature. */
  readonly conditions: (base: Readonly<Record<string, string>>) => readonly unknown[];
  /** Form fields that replace or extend those of the signature. Null removes a field. */
  readonly fields: Readonly<Record<string, string | null>>;
  readonly expiresInMs?: number;
  readonly body?: string;
  /** Changes the form's policy after it was signed. */
  readonly swapPolicy?: (policy: string) => string;
}

export function signForm(form: SignedForm): string {
  const { accessKeyId, secretAccessKey } = form.credentials;
  const amzDate = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const credential = `${accessKeyId}/${amzDate.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const base = { 'x-amz-algorithm': 'AWS4-HMAC-SHA256', 'x-amz-credential': credential, 'x-amz-date': amzDate };
  const expiration = new Date(Date.now() + (form.expiresInMs ?? 600_000)).toISOString();
  const policy = Buffer.from(JSON.stringify({ expiration, conditions: form.conditions(base) })).toString('base64');
  const key = [amzDate.slice(0, 8), 'us-east-1', 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${secretAccessKey}`,
  );
  const fields: Record<string, string | null> = {
    ...base,
    policy: form.swapPolicy?.(policy) ?? policy,
    'x-amz-signature': hmac(key, policy).toString('hex'),
    ...form.fields,
  };
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  const file = `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${form.body ?? 'hello'}\r\n--b--\r\n`;
  return parts.join('') + file;
}
