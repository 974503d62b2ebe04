/** Authenticates a browser's upload form: signed with SigV4 or SigV2, or anonymous. */
import { equalInConstantTime } from '../../shared/pure/constant-time.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { authFailure, type S3AuthFailure } from '../domain/s3-auth-failure.ts';
import { signSigV2 } from '../domain/sigv2.ts';
import { hmacSha256Hex, SIGV4_ALGORITHM } from '../domain/sigv4.ts';
import { CLOCK_SKEW_MS_MAX, parseAmzDate, parseCredentialScope } from '../domain/sigv4-credentials.ts';
import { findKey, type S3Caller, type S3Credentials, skewed, unsupportedMechanism } from './s3-authentication.ts';
import { UNSIGNED } from './s3-payload-mode.ts';

/** Authenticates a POST form by its fields. @param fields form fields with names in lower case. */
export async function authenticateS3Form(
  fields: ReadonlyMap<string, string>,
  credentials: S3Credentials,
  now: number,
): Promise<Result<S3Caller, S3AuthFailure>> {
  const policy = fields.get('policy');
  if (policy !== undefined && fields.has('signature') && !fields.has('x-amz-signature')) {
    return authenticateSigV2Form(policy, fields, credentials);
  }
  if (policy === undefined && !fields.has('x-amz-signature')) {
    return ok({ principal: null, via: 'anonymous', signature: null, payload: UNSIGNED });
  }
  const [algorithm, credential, amzDate, signature] = [
    fields.get('x-amz-algorithm'),
    fields.get('x-amz-credential'),
    fields.get('x-amz-date'),
    fields.get('x-amz-signature'),
  ];
  const missing = (name: string) =>
    err(
      authFailure(
        'InvalidArgument',
        `Bucket POST must contain a field named '${name}'.  If it is specified, please check the order of the fields.`,
        { ArgumentName: name, ArgumentValue: '' },
      ),
    );
  if (policy === undefined) return missing('policy');
  if (algorithm === undefined) return missing('X-Amz-Algorithm');
  if (algorithm !== SIGV4_ALGORITHM) return err(unsupportedMechanism());
  if (!credential) return missing('X-Amz-Credential');
  if (!amzDate) return missing('X-Amz-Date');
  if (!signature) return missing('X-Amz-Signature');
  const scope = parseCredentialScope(credential, 'InvalidArgument');
  if (!scope.ok) return scope;
  const signedAt = parseAmzDate(amzDate);
  if (signedAt === null || !amzDate.startsWith(scope.value.date)) {
    return err(
      authFailure('InvalidArgument', 'X-Amz-Date must be the date of the credential in the ISO 8601 basic form.', {
        ArgumentName: 'X-Amz-Date',
        ArgumentValue: amzDate,
      }),
    );
  }
  if (signedAt - now > CLOCK_SKEW_MS_MAX) return err(skewed(amzDate, now));
  const token = fields.get('x-amz-security-token') ?? null;
  const key = await findKey(scope.value.accessKeyId, credentials, token);
  if (!key.ok) return key;
  const expected = hmacSha256Hex(key.value.secret.signingKeyOf(scope.value), policy);
  if (!equalInConstantTime(expected, signature)) {
    return err(
      authFailure('SignatureDoesNotMatch', undefined, {
        AWSAccessKeyId: scope.value.accessKeyId,
        StringToSign: policy,
        SignatureProvided: signature,
      }),
    );
  }
  const { principal } = key.value;
  return ok({ principal, via: 'form', signature: SIGV4_ALGORITHM, payload: UNSIGNED });
}

/**
 * Verifies the signature of a SigV2 form, which covers only the policy (Amazon S3 API Reference, "Browser-based uploads using POST
 * (AWS signature version 2)").
 */
async function authenticateSigV2Form(
  policy: string,
  fields: ReadonlyMap<string, string>,
  credentials: S3Credentials,
): Promise<Result<S3Caller, S3AuthFailure>> {
  if (!credentials.allowsSigV2) return err(unsupportedMechanism());
  const accessKeyId = fields.get('awsaccesskeyid');
  if (!accessKeyId) {
    return err(
      authFailure(
        'InvalidArgument',
        "Bucket POST must contain a field named 'AWSAccessKeyId'.  If it is specified, please check the order of the fields.",
        { ArgumentName: 'AWSAccessKeyId', ArgumentValue: '' },
      ),
    );
  }
  const key = await findKey(accessKeyId, credentials, fields.get('x-amz-security-token') ?? null);
  if (!key.ok) return key;
  const { principal, secret } = key.value;
  const expected = signSigV2(secret.text, policy);
  const signature = fields.get('signature') ?? '';
  if (!equalInConstantTime(expected, signature)) {
    return err(
      authFailure('SignatureDoesNotMatch', undefined, {
        AWSAccessKeyId: accessKeyId,
        StringToSign: policy,
        SignatureProvided: signature,
      }),
    );
  }
  return ok({ principal, via: 'form', signature: 'AWS', payload: UNSIGNED });
}
