/** A tool of `/v1/mcp`: its name, scope, schema and code. */
import type { z } from '@hono/zod-openapi';
import type { AgentScope } from '../../identity/index.ts';
import type { Agent } from './agent.ts';

export interface Tool<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** Scope without which the tool is refused. */
  readonly scope: AgentScope;
  readonly description: string;
  readonly input: Schema;
  /** Whether it changes anything. No tool destroys. */
  readonly isWrite?: boolean;
  /** @returns the text of the answer. @throws ToolError for a refusal. */
  readonly run: (agent: Agent, args: z.output<Schema>) => Promise<string>;
}

/** Declares a tool. The type of the arguments of `run` is inferred from the schema. */
export const tool = <Schema extends z.ZodType>(definition: Tool<Schema>): Tool => definition as unknown as Tool;
