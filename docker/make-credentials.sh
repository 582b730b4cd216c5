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

mkdir -p "$folder"
umask 077
part=$(mktemp -d "$folder/.part-XXXXXX")
trap 'rm -rf "$part"' EXIT

if [ ! -s "$folder/ca.pem" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days "$days" -subj "/CN=Winnow" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout "$part/ca.key" -out "$part/ca.pem" 2>/dev/null
  chmod 644 "$part/ca.pem"
  mv "$part/ca.key" "$folder/ca.key"
  mv "$part/ca.pem" "$folder/ca.pem"
  rm -f "$folder/server.pem"
fi

if [ ! -s "$folder/server.pem" ]; then
  names="DNS:localhost,IP:127.0.0.1"
  for name in "$@"; do
    case $name in
      *[!0-9.]*) case $name in *:*) names+=",IP:$name" ;; *) names+=",DNS:$name" ;; esac ;;
      *) names+=",IP:$name" ;;
    esac
  done
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
    -keyout "$part/server.key" -out "$part/server.csr" 2>/dev/null
  openssl x509 -req -in "$part/server.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial \
    -CAserial "$part/serial" -days "$days" -out "$part/server.pem" 2>/dev/null \
    -extfile <(printf 'subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n' "$names")
  chmod 644 "$part/server.pem"
  mv "$part/server.key" "$folder/server.key"
  mv "$part/server.pem" "$folder/server.pem"
fi
