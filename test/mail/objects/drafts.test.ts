/** Finding S2 of the second audit: drafts are cleaned when they are written and, for those of earlier versions, when they are read. */
import { createExecutionContext, env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

async function call(method: string, path: string, body?: unknown, token = ''): Promise<Json> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(text.length) }),
  };
  const request = new Request(`http://localhost${path}`, {
    method,
    headers,
    ...(text === undefined ? {} : { body: text }),
  });
  const answer = await worker.fetch(
    request as Request<unknown, IncomingRequestCfProperties>,
    env as Env,
    createExecutionContext(),
  );
  return answer.json();
}

const START = '<div class="tessera-rich" dir="auto" style="white-space:pre-wrap">';
const LAYER = `${START}<div style="position:fixed;inset:0;background:#fff;z-index:99999">Type your password</div></div>`;
const CLEAN = `${START}<div style="background:#fff">Type your password</div></div>`;
const CONTENT = { from: null, to: [], cc: [], bcc: [], subject: 'Layer', body: 'x', attachmentIds: [] };

describe('the HTML of a draft that a program wrote', () => {
  it('is clean in the answer and in the mailbox, whether the draft is created, replaced or was stored before', async () => {
    const email = `d${crypto.randomUUID()}@example.test`;
    const password = 'correct horse battery';
    const { token, user } = await call('POST', '/v1/auth/register', { email, password, name: 'd' });
    const userId: string = user.user_id;
    const mailbox = openMailbox(env as Env, userId);
    const stored = async (id: string) => {
      const draft = await mailbox.readDraft(id);
      return draft.ok ? draft.value.content.html : null;
    };
    const created = await call('POST', '/v1/drafts', { subject: 'Layer', html: LAYER }, token);
    expect([created.html, await stored(created.id)]).toEqual([CLEAN, CLEAN]);
    const replaced = await call('PUT', `/v1/drafts/${created.id}`, { subject: 'Layer', html: `<p>${LAYER}` }, token);
    expect(replaced.html).not.toContain('position');
    expect(await stored(created.id)).toBe(replaced.html);

    const old = await mailbox.createDraft({ ...CONTENT, html: LAYER, inReplyTo: null, references: [] }, null);
    const id = old.ok ? old.value.messageId : '';
    expect(await stored(id)).toBe(LAYER);
    expect((await call('GET', `/v1/drafts/${id}`, undefined, token)).html).toBe(CLEAN);
  });
});
