/** The parts of `oidc-provider` that tests use. The package has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface ProviderContext {
    readonly path: string;
    readonly oidc?: { readonly route: string };
    // biome-ignore lint/suspicious/noExplicitAny: the body of any answer of the provider
    body: any;
  }
  interface ProviderClient {
    backchannelLogout(accountId: string, sid: string): Promise<void>;
  }
  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    use(middleware: (context: ProviderContext, next: () => Promise<void>) => Promise<void>): void;
    on(event: string, listener: (...given: readonly unknown[]) => void): void;
    readonly Client: { find(clientId: string): Promise<ProviderClient> };
  }
}
