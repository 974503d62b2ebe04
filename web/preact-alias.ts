/** The pages are written for React's interface and its types. Preact has the same interface in a tenth of the size. */
export const PREACT_ALIAS = {
  'react/jsx-runtime': 'preact/jsx-runtime',
  'react/jsx-dev-runtime': 'preact/jsx-runtime',
  'react-dom/client': 'preact/compat/client',
  'react-dom': 'preact/compat',
  react: 'preact/compat',
};
