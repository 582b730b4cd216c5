#!/bin/sh
# Creates tokens over the server's socket, which only its user can open: for each ROLE the file FOLDER/ROLE.token. Existing
# files in FOLDER are kept. Give each container only a directory with its own token.
#
#   docker/make-tokens.sh SOCKET FOLDER ROLE...
set -eu

if [ $# -lt 3 ]; then
  sed -n '2,5p' "$0" >&2
  exit 2
fi
socket=$1
folder=$2
shift 2
umask 077
for role in "$@"; do
  [ -s "$folder/$role.token" ] && continue
  winnow --server "unix:$socket" token create --role "$role" --name "$role of docker/make-tokens.sh" \
    >"$folder/.$role.token.part"
  mv "$folder/.$role.token.part" "$folder/$role.token"
done
