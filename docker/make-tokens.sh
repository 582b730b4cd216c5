#!/bin/sh
# Makes the tokens that workers, health checks and those who submit jobs show, one file each, by the server's own socket,
# which only its user can reach. What is in FOLDER already is kept.
#
#   docker/make-tokens.sh SOCKET FOLDER
set -eu

if [ $# -ne 2 ]; then
  sed -n '2,5p' "$0" >&2
  exit 2
fi
socket=$1
folder=$2
umask 077
for role in worker viewer submitter admin; do
  [ -s "$folder/$role.token" ] && continue
  winnow --server "unix:$socket" token create --role "$role" --name "$role of docker/make-tokens.sh" \
    >"$folder/.$role.token.part"
  mv "$folder/.$role.token.part" "$folder/$role.token"
done
