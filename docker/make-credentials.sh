#!/usr/bin/env bash
# Creates the credentials of a server beyond loopback: a certificate authority and the server's certificate,
# signed by it. Existing files in FOLDER are kept, so it may run at every start.
#
#   docker/make-credentials.sh FOLDER NAME_OR_ADDRESS...
#
# FOLDER/ca.pem               for workers and clients (--tls-ca, WINNOW_TLS_CA)
# FOLDER/server.pem, .key     for the server (--tls-cert, --tls-key); its names are the ones given, and localhost
# FOLDER/ca.key               to sign more certificates; keep it apart from the others
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n '2,9p' "$0" >&2
  exit 2
fi
folder=$1
shift
days=3650

fail() {
  echo "make-credentials.sh: $1" >&2
  exit 1
}

is_ipv4() {
  local part='(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
  [[ $1 =~ ^$part(\.$part){3}$ ]]
}

is_ipv6() {
  local address=$1 group count=0
  if [[ $address == *:*.* ]]; then  # the last 32 bits as an IPv4 address
    is_ipv4 "${address##*:}" || return 1
    address=${address%:*}:0:0
  fi
  [[ $address =~ ^[0-9A-Fa-f:]+$ && $address != *::*::* && $address != *:::* ]] || return 1
  if [[ $address =~ ^:[^:] || $address =~ [^:]:$ ]]; then return 1; fi
  for group in ${address//:/ }; do
    if ((${#group} > 4)); then return 1; fi
    count=$((count + 1))
  done
  if [[ $address == *::* ]]; then ((count < 8)); else ((count == 8)); fi
}

is_host_name() {
  local label='[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?'
  [[ ${#1} -le 253 && $1 =~ ^(\*\.)?$label(\.$label)*$ && ! $1 =~ ^[0-9.]+$ ]]
}

# All is made before anything is kept.
run() {
  "$@" 2>"$part/said" || fail "$1 $2 failed: $(cat "$part/said")"
}

names="DNS:localhost,IP:127.0.0.1"
for name in "$@"; do
  if is_ipv4 "$name" || is_ipv6 "$name"; then
    names+=",IP:$name"
  elif is_host_name "$name"; then
    names+=",DNS:$name"
  else
    fail "name \"$name\": expected a host name or an address, such as server.example, 10.0.0.5 or ::1"
  fi
done
if [ -s "$folder/ca.pem" ] && [ -s "$folder/server.pem" ]; then exit 0; fi
command -v openssl >/dev/null || fail "there is no program openssl: expected it to be installed"
title=$1
if [ ${#title} -gt 64 ]; then title="Winnow server"; fi  # X.509 allows no longer one; clients look at the names

part=
made=
trap 'rm -rf "$part"; if [ -n "$made" ]; then rmdir "$folder" 2>/dev/null || true; fi' EXIT
if [ ! -d "$folder" ]; then
  mkdir -p "$folder"
  made=yes  # rmdir leaves it where it has files
fi
umask 077
part=$(mktemp -d "$folder/.part-XXXXXX")

authority=$folder
if [ ! -s "$folder/ca.pem" ]; then
  authority=$part
  run openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days "$days" -subj "/CN=Winnow" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout "$part/ca.key" -out "$part/ca.pem"
fi

[ -s "$authority/ca.key" ] ||
  fail "$authority/ca.key is not there: expected the key of ca.pem beside it, to sign the server's certificate"
printf 'subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n' \
  "$names" >"$part/extensions"
run openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$title" \
  -keyout "$part/server.key" -out "$part/server.csr"
run openssl x509 -req -in "$part/server.csr" -CA "$authority/ca.pem" -CAkey "$authority/ca.key" -CAcreateserial \
  -CAserial "$part/serial" -days "$days" -out "$part/server.pem" -extfile "$part/extensions"
chmod 644 "$part/server.pem"
rm -f "$folder/server.pem"
if [ "$authority" = "$part" ]; then
  chmod 644 "$part/ca.pem"
  mv "$part/ca.key" "$folder/ca.key"
  mv "$part/ca.pem" "$folder/ca.pem"
fi
mv "$part/server.key" "$folder/server.key"
mv "$part/server.pem" "$folder/server.pem"
