# What the pages of the guide use, for bash, zsh and every shell of POSIX with `local`. At the top of the repository: . docs/guide/shell.sh

export GANNET_URL="${GANNET_URL:-http://127.0.0.1:7700}"
export GANNET_KEY="${GANNET_KEY:-a key of sixteen bytes or more}"
DATA="${DATA:-./guide.gannet}"

gannet() { node dist/main.cjs "$@"; }

# ask METHOD PATH [BODY]: one request with the key; prints the answer, fails when that is an error
ask() {
  # Names such as `status` and `path` belong to zsh.
  local method="$1" place="$2" outcome=0
  if [ "$#" -gt 2 ]; then set -- -H 'Content-Type: application/json' -d "$3"; else set --; fi
  curl -sS --fail-with-body -X "$method" "$GANNET_URL$place" -H "Authorization: Bearer $GANNET_KEY" "$@" || outcome=$?
  echo
  return "$outcome"
}

# settled: waits until every task has ended; fails when one of them fails
settled() { gannet tasks --watch --until-idle > /dev/null; }
