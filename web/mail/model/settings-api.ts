/** Types of filters, contacts and the vacation reply, derived from the API's schemas. */
import type { z } from 'zod';
import type {
  contactAnswerSchema,
  filterAnswerSchema,
  filterSchema,
  vacationSchema,
} from '../../../workers/mail/schemas/filter.ts';

export type Filter = z.infer<typeof filterAnswerSchema>;
export type FilterRequest = z.input<typeof filterSchema>;
export type Condition = Filter['conditions'][number];
export type Action = Filter['actions'][number];
export type SavedContact = z.infer<typeof contactAnswerSchema>;
export type Vacation = z.infer<typeof vacationSchema>;

export const filterPath = (filter: Filter) => `/v1/filters/${encodeURIComponent(filter.id)}`;
