/**
 * The type of a product's manifest, `workers/<product>/product.ts`: everything that the Worker knows of the product. `workers/index.ts`
 * has the list of the manifests. It evaluates them in every isolate, so a manifest imports the rest of its product with `import()`.
 *
 * By design: an absent product keeps its bindings, its object classes and everything that it stored. Its obligation when a user is
 * deleted and its sealed secrets stay too, because its data does.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { RevocationWitness, SecretKeeper, UserObligation } from '../identity/index.ts';
import type { FindOperator } from './json/health.ts';
import type { JsonApiEnv } from './json/json-api.ts';
import { settingsOf } from './settings/settings.ts';
import type { ProductName } from './settings/settings-schema.ts';
import type { Finders, FindSilent, FindWarnings } from './stores/health-findings.ts';
import type { ReadGauges } from './telemetry/exposition.ts';
import type { Operation } from './telemetry/prices.ts';

export interface Product {
  /** A product that the setting `PRODUCTS` selects, or a part that every deployment has. */
  readonly name: ProductName | 'identity' | 'directory';
  /** Paths outside of `/v1/` that the product's JSON API answers. */
  readonly paths?: readonly string[];
  /** Paths that the product's JSON API answers on hosts with a name that begins so, such as `autoconfig.` before a mail domain. */
  readonly hostPaths?: readonly { readonly host: string; readonly path: string }[];
  /**
   * Paths that no other product's JSON API has. Their first request evaluates this product only. Such a product needs nothing of the
   * others in `createApi`.
   */
  readonly ownPaths?: RegExp;
  /** Requests that metrics and costs count under a name of their own. The first one that matches counts. */
  readonly operations?: readonly CountedRequests[];
  /** Paths of the product's pages in the web app, without `/_/`. Pages that no product lists are always served. */
  readonly pages?: readonly string[];
  /** Classes of its Durable Objects, which `workers/index.ts` exports and wrangler.toml binds. */
  readonly objectClasses?: readonly string[];
  /** What it does when a user is deleted or suspended, or a credential ends. */
  readonly obligation?: UserObligation;
  /** Stores a revocation before it is acknowledged. */
  readonly witness?: RevocationWitness;
  /** Its messages in a queue. Products can share a queue. */
  readonly queue?: ProductQueue;
  /** Events of Cloudflare in a queue. */
  readonly events?: ProductQueue;
  /** Receives an email. The sender tries again if this fails. */
  readonly receiveEmail?: (message: ForwardableEmailMessage, env: Env) => Promise<void>;
  /** Loads the JSON API. Its schemas are most of what an isolate evaluates. */
  readonly load: () => Promise<ProductApi>;
  /** Loads the background work, without the routes of the API. */
  readonly work: () => Promise<ProductWork>;
}

interface CountedRequests {
  readonly operation: Operation;
  /** `api` is the JSON API, `storage` the S3 API. */
  readonly destination: 'api' | 'storage';
  /** Default: all methods. */
  readonly methods?: readonly string[];
  /** Default: all paths. */
  readonly path?: RegExp;
}

/** Methods of requests that only read. */
export const READS = ['GET', 'HEAD'];

interface ProductQueue {
  /** Suffix of the queue's name. An environment such as staging puts its own name before the suffix. */
  readonly suffix: string;
  /** Whether a message of the queue belongs to this product. */
  readonly owns: (message: Message) => boolean;
}

/** What `workers/<product>/api.ts` exports. */
export interface ProductApi {
  readonly createApi: (all: AllProducts) => OpenAPIHono<JsonApiEnv>;
  /** Tells whether a caller is an operator. One product that is always served has it. */
  readonly findOperator?: FindOperator;
}

/** What the API of identity needs of all products. */
export interface AllProducts {
  readonly secrets: readonly SecretKeeper[];
  readonly readGauges: ReadGauges;
}

export type Schedule = (controller: ScheduledController, env: Env, ctx: ExecutionContext) => Promise<void>;

type Consume = (batch: MessageBatch, env: Env, ctx: ExecutionContext) => Promise<void>;

/** A product's background work, `work` in `workers/<product>/work.ts`. */
export interface ProductWork {
  /** Run by both cron triggers, one per minute and one per day. Logs name a failed one by its key. */
  readonly schedules?: Readonly<Record<string, Schedule>>;
  /** Schedules that may take most of a minute. They run after the schedules of all products. */
  readonly slowSchedules?: Readonly<Record<string, Schedule>>;
  /** Handles messages of the product's queue. */
  readonly consume?: Consume;
  /** Handles events of the product's second queue. */
  readonly consumeEvents?: Consume;
  /** Gauges for `GET /v1/metrics`. */
  readonly readGauges?: ReadGauges;
  /** Parts that do not answer, for health. */
  readonly findSilent?: FindSilent;
  /** Warnings for health. */
  readonly findWarnings?: FindWarnings;
  /** Stores of secrets that are sealed with MASTER_KEY. */
  readonly secrets?: readonly SecretKeeper[];
}

const isAlwaysServed = (name: Product['name']): boolean => name === 'identity' || name === 'directory';

/** Whether the deployment serves a product. @throws MisconfiguredError if PRODUCTS is bad. */
export const isServed = (env: Env, { name }: Product): boolean =>
  isAlwaysServed(name) || settingsOf(env).PRODUCTS.some((served) => served === name);

/** Finds what the products that are served know about their health. */
export const findersOf = (work: readonly ProductWork[]): Finders => ({
  findSilent: async (env) => (await Promise.all(work.map((each) => each.findSilent?.(env) ?? []))).flat(),
  findWarnings: async (env) => (await Promise.all(work.map((each) => each.findWarnings?.(env) ?? []))).flat(),
});

/** Whether a path is a page of the web app whose product is not served. @throws MisconfiguredError if PRODUCTS is bad. */
export function isAbsentPage(products: readonly Product[], env: Env, pathname: string): boolean {
  const page = pathname.replace(/^\/_\//, '').replace(/\.html$/, '');
  return products.some((product) => product.pages?.includes(page) && !isServed(env, product));
}

/** The operation as which a request is counted. */
export function operationOf(products: readonly Product[], destination: string, { method, path }: Counted): Operation {
  const counted = products
    .flatMap(({ operations }) => operations ?? [])
    .find(
      (each) =>
        each.destination === destination && (each.methods?.includes(method) ?? true) && (each.path?.test(path) ?? true),
    );
  return counted?.operation ?? 'other';
}

interface Counted {
  readonly method: string;
  readonly path: string;
}
