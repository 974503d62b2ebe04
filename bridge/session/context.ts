/** Input and answer of the handler of a command. */
import type { Account } from './account.ts';
import type { Client } from './client.ts';
import type { Command } from './command.ts';
import type { Peer } from './pipe.ts';
import type { View } from './view.ts';
import type { Wire } from './wire.ts';

/** The session after a log-in. */
export interface Login {
  readonly account: Account;
  /** Requests in the name of this connection's address. */
  readonly client: Client;
}

/** State of one connection. */
export class SessionState {
  readonly wire: Wire;
  readonly peer: Peer;
  #login: Login | null = null;
  #view: View | null = null;
  #isTls: boolean;
  #hasCondstore = false;

  constructor(wire: Wire, peer: Peer) {
    this.wire = wire;
    this.peer = peer;
    this.#isTls = peer.isTls;
  }

  get login(): Login | null {
    return this.#login;
  }
  get view(): View | null {
    return this.#view;
  }
  get isTls(): boolean {
    return this.#isTls;
  }
  /** Whether answers tell change numbers (RFC 7162 §3.1). */
  get hasCondstore(): boolean {
    return this.#hasCondstore;
  }

  logIn(login: Login): void {
    this.#login = login;
  }

  /** Selects a folder, or none. Gives the former one back. */
  select(view: View | null): void {
    if (this.#view) this.#login?.account.release(this.#view.mirror);
    this.#view = view;
  }

  noteTls(): void {
    this.#isTls = true;
  }

  enableCondstore(): void {
    this.#hasCondstore = true;
  }
}

export interface Context extends Login {
  readonly session: SessionState;
  readonly wire: Wire;
}

export interface SelectedContext extends Context {
  readonly view: View;
}

/** The tagged answer: OK, NO or BAD, an optional response code, and a text. */
export interface Answer {
  readonly status: 'OK' | 'NO' | 'BAD';
  readonly text: string;
  /** Response code without brackets. */
  readonly code?: string;
}

export const ok = (text: string, code?: string): Answer => ({ status: 'OK', text, ...(code ? { code } : {}) });
export const no = (text: string, code?: string): Answer => ({ status: 'NO', text, ...(code ? { code } : {}) });
export const bad = (text: string): Answer => ({ status: 'BAD', text });

export type Handler = (context: Context, command: Command) => Promise<Answer>;
export type SelectedHandler = (context: SelectedContext, command: Command) => Promise<Answer>;

export const SYNTAX = bad('Arguments missing or invalid');

/** The connection cannot continue, for example in the middle of a literal. */
export class BrokenAnswerError extends Error {}
