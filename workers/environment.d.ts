/** Bindings that a deployment may have in addition to those of wrangler.toml. `settingsOf` reads settings. */
interface Env {
  /** The master key before the current one, while secrets are being sealed again. */
  readonly MASTER_KEY_PREVIOUS?: string;
}
