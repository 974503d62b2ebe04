/** Turns notifications of new mail in this browser on or off. They appear while no tab is visible. */
import { useStore } from '../../shared/store.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { isPushOn, isPushSupported, startPush, stopPush } from '../model/push.ts';
import { session } from '../model/session.ts';
import { Setting } from './setting.tsx';

const { notifications: t } = mailSettingsTexts;

export function Notifications() {
  const userId = useStore(session, (state) => state.profile?.user_id ?? '');
  const { value: isOn, reload } = useLoaded(() => isPushOn(userId), [userId]);
  const change = async () => {
    try {
      if (isOn) await stopPush();
      else if (!(await startPush(userId))) showToast(t.refused);
    } catch (error) {
      showError(error);
    }
    reload();
  };
  return (
    <Setting title={t.title} text={t.text}>
      {isPushSupported ? (
        <label className="check">
          <input type="checkbox" checked={isOn ?? false} onChange={change} /> {t.label}
        </label>
      ) : (
        <p className="muted">{t.unsupported}</p>
      )}
    </Setting>
  );
}
