/** Makes the first commands that `npm start` prints. They need only a POSIX shell and curl, and can be pasted without changes. */

export interface FirstCommands {
  readonly storage: string;
  readonly leaderboard: string;
  readonly mail: string;
}

/** Makes the commands for a server. @param devVars path of `.dev.vars`, the file with ROOT_TOKEN. */
export function toFirstCommands(url: string, devVars: string): FirstCommands {
  const helpers = [
    `ROOT_TOKEN=$(sed -n 's/^ROOT_TOKEN=//p' ${quote(devVars)})`,
    `api() { curl -sS -H "Authorization: Bearer $ROOT_TOKEN" -H 'content-type: application/json' "$@"; }`,
    `field() { sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }`,
  ];
  return {
    storage: [
      ...helpers,
      `USER_ID=$(api ${url}/v1/iam/users -d '{"name":"me"}' | field user_id)`,
      `KEY=$(api ${url}/v1/iam/users/$USER_ID/access-keys -d '{}')`,
      `s3() { curl -sS --aws-sigv4 aws:amz:us-east-1:s3 -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' --user "$(echo "$KEY" | field access_key_id):$(echo "$KEY" | field secret_access_key)" "$@"; }`,
      `s3 -X PUT ${url}/photos-$USER_ID`,
      `s3 -X PUT ${url}/photos-$USER_ID/hello.txt -H 'content-type: text/plain' --data 'Hello from the edge'`,
      `s3 ${url}/photos-$USER_ID/hello.txt; echo`,
    ].join('\n'),
    leaderboard: [
      ...helpers,
      `TOKEN=$(api ${url}/v1/iam/tokens -d '{"name":"game","scopes":["scores:write"]}' | field token)`,
      `curl -sS ${url}/v1/scores -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"user_id":"ada","user_name":"Ada","points":3}'; echo`,
      `curl -sS '${url}/v1/scores?exact=1'; echo`,
    ].join('\n'),
    mail: [
      `curl -sS ${url}/v1/auth/register -H 'content-type: application/json' -d '{"email":"me@example.test","password":"correct horse battery","name":"Me"}'; echo`,
    ].join('\n'),
  };
}

const quote = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
