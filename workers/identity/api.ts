/** The JSON API that every deployment has: `/v1/iam`, operators, the audit log, collectors and metrics. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { createRoutes, type JsonApiEnv } from '../shared/json/json-api.ts';
import type { AllProducts } from '../shared/product.ts';
import { findOperator } from './callers/guards.ts';
import { createIdentityApi } from './iam/index.ts';
import { createAuditApi } from './operators/audit-routes.ts';
import { collectorsApi } from './operators/collector-routes.ts';
import { createMetricsApi } from './operators/metrics-routes.ts';
import { createOperatorApi } from './operators/operator-routes.ts';
import { createS3LocationApi } from './operators/s3-location-routes.ts';
import { createSignInApi } from './sign-in/sign-in-routes.ts';

export { findOperator };

export function createApi({ secrets, readGauges }: AllProducts): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  const parts = [
    createIdentityApi(secrets),
    createOperatorApi(),
    createSignInApi(),
    createAuditApi(),
    collectorsApi,
    createS3LocationApi(),
    createMetricsApi(readGauges),
  ];
  for (const part of parts) api.route('/', part);
  return api;
}
