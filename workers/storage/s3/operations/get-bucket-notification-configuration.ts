import { ok } from '../../../shared/pure/result.ts';
import { notificationOf } from '../../domain/notifications.ts';
import { toNotificationElements } from '../documents/notification-document.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const getBucketNotificationConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketNotification'),
  async run({ bucket }) {
    return ok(xmlAnswer('NotificationConfiguration', toNotificationElements(notificationOf(bucket.configuration))));
  },
};
