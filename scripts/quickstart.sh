#!/usr/bin/env bash
# From a fresh Debian 12 to a finished tuning job: installs packages, builds, starts a server with two local
# workers of two slots each, and tunes the direct-marketing model under Hyperband. Where Winnow is installed it builds nothing.
#
#   scripts/quickstart.sh           run it; the server stays up, so that you can look at the result
#   scripts/quickstart.sh --build   build this checkout, even if Winnow is installed
#   scripts/quickstart.sh --stop    stop that server
#
# WINNOW_QUICKSTART_DIR   directory of the server's files         (default:  quickstart.d in the repository)
# WINNOW_LISTEN           address for gRPC                        (default:  127.0.0.1:7070, or a free port if that is taken)
# WINNOW_HTTP             address of the web page                 (default: 127.0.0.1:8080, or a free port with the former)
# WINNOW_DATA_DIR         directory with bank-additional-full.csv.gz (default: download it)
set -euo pipefail
cd "$(dirname "$0")/.."

home=${WINNOW_QUICKSTART_DIR:-$PWD/quickstart.d}
usual=127.0.0.1:7070
pid_file=$home/server.pid
begin=$SECONDS
version=$(sed -n 's/^project(winnow VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

# Prints the folder of an installed Winnow of this version, if there is one.
installed_programs() {
  local found folder
  found=$(command -v winnow-server) || return 1
  folder=$(dirname "$(readlink -f "$found")")
  for program in winnow winnow-server winnow-worker winnow-gbdt; do
    [ -x "$folder/$program" ] || return 1
  done
  if [ "$("$folder/winnow-server" --version)" != "winnow-server $version" ]; then
    echo "The installed $folder/winnow-server is not of version $version, so this checkout is built." >&2
    return 1
  fi
  echo "$folder"
}

# Reads ninja's lines and prints one for every five percent, with the time that is left at this speed.
show_progress() {
  local start=$SECONDS shown=-1 line built all percent left
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      built=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      percent=$((100 * built / all))
      if [ $((percent / 5)) -gt "$shown" ] && [ "$built" -gt 1 ]; then
        shown=$((percent / 5))
        left=$(((SECONDS - start) * (all - built) / built))
        printf '   built %d of %d (%d %%), about %d:%02d left\n' "$built" "$all" "$percent" $((left / 60)) $((left % 60))
      fi
    else
      printf '%s\n' "$line"
    fi
  done
}

server_is_up() {
  [ -s "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null &&
    tr '\0' ' ' <"/proc/$(cat "$pid_file")/cmdline" | grep -q winnow-server
}

stop_server() {
  if server_is_up; then
    kill "$(cat "$pid_file")"
    tail --pid="$(cat "$pid_file")" -f /dev/null
    echo "winnow-server stopped; its files stay in $home"
  else
    echo "no server of this quickstart is running"
  fi
  rm -f "$pid_file"
}

# start_server ADDRESS [HTTP]: returns when it listens, or 1 when it has ended.
start_server() {
  mkdir -p "$home"
  rm -f "$home/port" "$home/http-port"
  nohup "$bin/winnow-server" --db "$home/winnow.db" --listen "$1" --local-workers 2 --slots 2 \
    ${2:+--http "$2"} --http-port-file "$home/http-port" \
    --port-file "$home/port" >"$home/server.log" 2>&1 </dev/null &
  echo $! >"$pid_file"
  until [ -s "$home/port" ]; do
    kill -0 "$(cat "$pid_file")" 2>/dev/null || return 1
    sleep 0.1
  done
}

# Starts it at the default port. Another server may have that, such as the one of the Debian package: then at a free one.
start_somewhere() {
  start_server "${WINNOW_LISTEN:-$usual}" "${WINNOW_HTTP:-}" && return
  if [ -z "${WINNOW_LISTEN:-}" ] && grep -q "cannot listen on $usual" "$home/server.log"; then
    echo "$usual is in use, so this server takes a free port."
    start_server "${usual%:*}:0" "${WINNOW_HTTP:-${usual%:*}:0}" && return
  fi
  echo "winnow-server did not start:" >&2
  tail -n 5 "$home/server.log" >&2
  exit 1
}

build=auto
case "${1:-}" in
  "") ;;
  --build) build=yes ;;
  --stop)
    stop_server
    exit 0
    ;;
  *)
    sed -n '2,12p' "$0" >&2
    exit 2
    ;;
esac

bin=
[ "$build" = yes ] || bin=$(installed_programs) || bin=
if [ -n "$bin" ]; then
  echo "Tunes a model with the Winnow that is installed in $bin: prepares the data, starts a server on this machine, runs 30"
  echo "trials. This takes less than 2 minutes."
  echo "== 1/4  packages: nothing to do"
  echo "== 2/4  build: nothing to do"
else
  bin=$PWD/build/bin
  echo "Installs Debian packages (asks for root if some are missing), builds Winnow into build/, prepares the data, starts a server on"
  echo "this machine and tunes a model in 30 trials. The build takes most of the time: about 16 minutes on two cores, less on more;"
  echo "a build that was interrupted goes on where it was. The rest takes about a minute."
  echo "== 1/4  packages"
  scripts/install-packages.sh
  echo "== 2/4  build"
  cmake --preset release -DWINNOW_TESTS=OFF -DWINNOW_BENCH=OFF >/dev/null
  cmake --build --preset release | show_progress
fi
echo "== 3/4  data"
scripts/get-data.sh examples/data
echo "== 4/4  tune"
server_is_up || start_somewhere
listen=${WINNOW_LISTEN:-$usual}
WINNOW_SERVER=${listen%:*}:$(cat "$home/port")
export WINNOW_SERVER
"$bin/winnow" submit examples/direct-marketing.json --watch
page="none: $(grep -m1 -o 'page.*' "$home/server.log" || echo "see $home/server.log")"
if [ -s "$home/http-port" ]; then page=$(grep -m1 -o 'https\?://[^ ]*' "$home/server.log"); fi
cat <<END

Done in $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s. The server is still up (log: $home/server.log). Its web page: $page
Try, after
  export PATH="$bin:\$PATH" WINNOW_SERVER=$WINNOW_SERVER

  winnow trials latest --sort objective
  winnow analytics latest --output csv
  winnow plan examples/direct-marketing.json

and stop it with: scripts/quickstart.sh --stop
END
