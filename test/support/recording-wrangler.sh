#!/bin/bash
# Replaces wrangler in dev/deploy.ts: records each call in $RECORD and answers like an account in the state $ACCOUNT
# (empty | deployed). `deploy` runs the real wrangler: against the API stand-in if DEPLOY=real, else as a dry run.
echo "$*" >>"$RECORD"
case "$1 $2" in
"d1 list")
  if [ "$ACCOUNT" = deployed ] || grep -q '^d1 create' "$RECORD"; then
    echo '[{"name":"tessera-directory","uuid":"11111111-1111-4111-8111-111111111111"},{"name":"tessera-objects-0","uuid":"22222222-2222-4222-8222-222222222222"}]'
  else echo '[]'; fi ;;
"secret list")
  if [ "$ACCOUNT" = deployed ]; then echo '[{"name":"ROOT_TOKEN"},{"name":"MASTER_KEY"}]'
  else echo 'This Worker does not exist [code: 10007]' >&2; exit 1; fi ;;
"r2 bucket" | "queues create")
  if [ "$ACCOUNT" = deployed ]; then echo 'already exists [code: 10004]' >&2; exit 1; fi ;;
"deploy --config") [ "$DEPLOY" = real ] && exec node_modules/.bin/node node_modules/wrangler/bin/wrangler.js "$@"
  exec node_modules/.bin/node node_modules/wrangler/bin/wrangler.js deploy --dry-run --config "$3" --outdir "$OUTDIR" ;;
esac
