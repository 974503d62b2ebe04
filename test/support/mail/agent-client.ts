/** A program that connects to `/v1/mcp` with the protocol's own client. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';
import { confirmSession, type MailUser } from './mail.ts';

export interface AgentClient extends AsyncDisposable {
  readonly client: Client;
  /** Calls a tool. @returns the text of its answer, which begins with `ERROR` if the tool refused. */
  readonly call: (name: string, args?: Record<string, unknown>) => Promise<string>;
}

/** Makes a token of an agent, as the person does in Settings. */
export async function makeAgentToken(server: TestServer, user: MailUser, scopes: readonly string[]): Promise<string> {
  await confirmSession(server, user.token);
  const made = await server.call('POST', '/v1/me/tokens', { name: 'my agent', scopes }, user.token);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.token;
}

export async function connectAgent(server: TestServer, token: string): Promise<AgentClient> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/v1/mcp`), { requestInit: { headers } }),
  );
  return {
    client,
    async call(name, args = {}) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const text = (content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
      return isError ? `ERROR ${text}` : text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
