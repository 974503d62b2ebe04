/** Bindings that a deployment may have beside those of wrangler.toml. */
interface Env {
  /** The master key before the present one, while secrets are being re-sealed. */
  readonly MASTER_KEY_PREVIOUS?: string;
  /** Whose mail postmaster@ and abuse@ of every hosted domain is, where nobody has that address; else it lies in quarantine. */
  readonly POSTMASTER_ADDRESS?: string;
}
