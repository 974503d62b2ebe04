/** Schemas of what a person decides about agents. */
import { z } from '@hono/zod-openapi';

export const waitingSchema = z
  .object({
    id: z.string(),
    token_id: z.string().openapi({ description: 'The token of the agent that asks.' }),
    waiting_since: z.string(),
    from: z.string().nullable().openapi({ description: 'null: the address of the account.' }),
    to: z.array(z.string()),
    cc: z.array(z.string()),
    subject: z.string(),
    body: z.string(),
    file_names: z.array(z.string()),
    sha256: z.string().openapi({ description: 'Hash of the message. Any change of the draft makes another one.' }),
  })
  .openapi('WaitingMessage');

export const approvalSchema = z
  .strictObject({
    recipients: z.array(z.string().max(320)).min(1).max(1_000),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .openapi({ example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' }),
  })
  .openapi('Approval');

export const agentRecipientsSchema = z
  .strictObject({
    emails: z
      .array(z.email().max(254).toLowerCase())
      .max(100)
      .openapi({ example: ['grace@example.net'] }),
  })
  .openapi('AgentRecipients');

export const askedAgentSchema = z
  .object({
    redirect_to: z
      .string()
      .openapi({ description: 'Address of the client to which the browser goes if the person refuses.' }),
    consent: z
      .object({
        request: z.string().openapi({ description: 'The checked request, for POST /v1/me/connections.' }),
        client_name: z.string().openapi({ description: 'Name that the client gives itself. It is not checked.' }),
        client_host: z.string().openapi({ description: 'The host that publishes the client.' }),
        redirect_host: z.string().openapi({ description: 'The host that gets the code.' }),
        is_local: z
          .boolean()
          .openapi({ description: 'Whether the code goes to a program on the device of the person.' }),
        scopes: z.array(z.string()),
      })
      .nullable(),
  })
  .openapi('AskedConnection');
export type AskedAgent = z.infer<typeof askedAgentSchema>;
