/** Steps to export mail from another service as a file. */
import { useState } from 'react';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';

const { importGuide: t } = mailSettingsTexts;
type Service = keyof typeof t.services;
const SERVICES = Object.keys(t.services) as Service[];

export function ImportGuide() {
  const [service, setService] = useState<Service>('gmail');
  const { steps } = t.services[service];
  return (
    <div className="stack">
      <label className="field">
        <span>{t.where}</span>
        <select value={service} onChange={(event) => setService(event.target.value as Service)}>
          {SERVICES.map((one) => (
            <option key={one} value={one}>
              {t.services[one].name}
            </option>
          ))}
        </select>
      </label>
      <ol className="guide-steps" aria-label={t.steps} aria-live="polite">
        {[...steps, t.choose].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </div>
  );
}
