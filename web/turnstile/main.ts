/**
 * `/_/turnstile`: a frame that shows the Turnstile widget and posts its token to the page around it. A document of its own,
 * so that only its policy allows Cloudflare's script. The fragment names the action.
 */
import { loadConfig } from '../shared/config.ts';
import './turnstile.css';
import { texts } from '../shared/texts/index.ts';

interface TurnstileApi {
  render(
    container: string,
    options: {
      sitekey: string;
      action: string;
      callback: (token: string) => void;
      'expired-callback': () => void;
      'error-callback': () => boolean;
    },
  ): string;
}

const SCRIPT_URL = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit';

/** Posts the token to the page around the frame. @param token null when it expired or the widget failed. */
const post = (token: string | null) => parent.postMessage({ turnstile: token }, location.origin);

function showError(): void {
  post(null);
  const app = document.getElementById('app');
  if (app) app.textContent = texts.app.challengeFailed;
}

function loadScript(): Promise<TurnstileApi> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = SCRIPT_URL;
    script.onload = () => {
      const { turnstile } = globalThis as unknown as { turnstile?: TurnstileApi };
      if (turnstile) resolve(turnstile);
      else reject(new Error('no turnstile in the script'));
    };
    script.onerror = () => reject(new Error(`not loaded: ${SCRIPT_URL}`));
    document.head.append(script);
  });
}

async function show(): Promise<void> {
  const [api, config] = await Promise.all([loadScript(), loadConfig()]);
  api.render('#app', {
    sitekey: config.turnstile_site_key ?? '',
    action: location.hash.slice(1),
    callback: post,
    'expired-callback': () => post(null),
    'error-callback': () => {
      showError();
      return true;
    },
  });
}

show().catch(showError);
