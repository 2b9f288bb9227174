# What the pages of the guide use. In a shell, at the top of the repository: . docs/guide/shell.sh

export GANNET_URL="${GANNET_URL:-http://127.0.0.1:7700}"
export GANNET_KEY="${GANNET_KEY:-a key of sixteen bytes or more}"
DATA="${DATA:-./guide.gannet}"

gannet() { node dist/main.cjs "$@"; }

# ask METHOD PATH [BODY]: one request with the key; prints the answer, fails when that is an error
ask() {
  local status=0
  curl -sS --fail-with-body -X "$1" "$GANNET_URL$2" -H "Authorization: Bearer $GANNET_KEY" \
    ${3:+-H 'Content-Type: application/json' -d "$3"} || status=$?
  echo
  return "$status"
}

# settled: waits until every task has ended; fails when one of them fails
settled() { gannet tasks --watch --until-idle > /dev/null; }
