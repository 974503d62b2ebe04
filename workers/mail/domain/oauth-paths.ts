/** Paths of the OAuth metadata. The manifest of mail needs them before its routes are loaded. */

export const MCP_PATH = '/v1/mcp';
/** RFC 9728 §3.1: the well-known part stands before the path of the resource. */
export const RESOURCE_METADATA_PATH = `/.well-known/oauth-protected-resource${MCP_PATH}`;
/** RFC 8414 §3. */
export const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';
export const OAUTH_PATHS: readonly string[] = [RESOURCE_METADATA_PATH, SERVER_METADATA_PATH];
