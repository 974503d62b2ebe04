/** Identity's door. */
import { createJsonApi } from '../shared/json-api.ts';

export const identityApi = createJsonApi();
