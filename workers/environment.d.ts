declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}

/** Bindings that a deployment may have in addition to those of wrangler.toml. `settingsOf` reads settings. */
interface Env {
  /** The previous master key, set while secrets are being sealed again with the new one. */
  readonly MASTER_KEY_PREVIOUS?: string;
}
