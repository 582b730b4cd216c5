#!/bin/sh
# Makes tokens by the server's own socket, which only its user can reach: for each ROLE the file FOLDER/ROLE.token. What is in
# FOLDER already is kept. Give each container a folder with the token that it shows itself, and no other.
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
