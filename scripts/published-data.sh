# The data that Winnow is measured on, as their publishers have them, each known by the sha256 of what is in it, packed
# or not. To be sourced, by a script that has defined `say` and the folder $work for what is on its way.
# Where they come from: $WINNOW_DATA_DIR; else their publishers, or the mirrors $WINNOW_DATA_URL (the archive of the
# bank data) and $WINNOW_MNIST_URL (a folder).
# shellcheck shell=bash disable=SC2034,SC2154  # of whom it is sourced by

readonly bank_url="${WINNOW_DATA_URL:-https://archive.ics.uci.edu/static/public/222/bank+marketing.zip}"
readonly bank_name=bank-additional-full.csv
readonly bank_sha256=74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8
readonly mnist_url="${WINNOW_MNIST_URL:-https://storage.googleapis.com/cvdf-datasets/mnist}"
readonly -A mnist_sha256=(
  [train-images-idx3-ubyte]=ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
  [train-labels-idx1-ubyte]=65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
  [t10k-images-idx3-ubyte]=0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
  [t10k-labels-idx1-ubyte]=ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
)
readonly python="${PYTHON:-python3}"

# holds FILE SHA256: whether that is what FILE holds, packed by gzip or not.
holds() { [[ "$(gzip -dcf -- "$1" 2>/dev/null | sha256sum)" == "$2 "* ]]; }

# local_copy NAME SHA256: prints the path of the file NAME, or NAME.gz, in $WINNOW_DATA_DIR. 1: it is not there, or no
# such folder is given; 2, and said: it holds something else.
local_copy() {
  local file
  [[ -n "${WINNOW_DATA_DIR:-}" ]] || return 1
  for file in "$WINNOW_DATA_DIR/$1.gz" "$WINNOW_DATA_DIR/$1"; do
    [[ -r "$file" ]] || continue
    holds "$file" "$2" || { say "$file: what is in it has another sha256 than $2; expected the publisher's"; return 2; }
    echo "$file"
    return 0
  done
  return 1
}

# download URL FILE: into FILE, or 1, and said. A server that sends next to nothing is given up.
download() {
  command -v curl >/dev/null || { say "curl is not there, so nothing is downloaded"; return 1; }
  say "downloading $1"
  curl --fail --silent --show-error --location --connect-timeout 5 --speed-limit 1024 --speed-time 20 --output "$2" "$1"
}

# download_bank FILE: its text into FILE, or 1, and said. The archive is a zip in a zip.
download_bank() {
  download "$bank_url" "$work/bank.zip" || return 1
  "$python" - "$work/bank.zip" "$1" 2>"$work/unpack.err" <<'END' ||
import io, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as outer:
    with zipfile.ZipFile(io.BytesIO(outer.read("bank-additional.zip"))) as inner:
        data = inner.read("bank-additional/bank-additional-full.csv")
with open(sys.argv[2], "wb") as file:
    file.write(data)
END
    { say "the download is not the expected archive: $(tail -n 1 "$work/unpack.err")"; return 1; }
  holds "$1" "$bank_sha256" ||
    { say "the download has another checksum than $bank_sha256, so it is not used"; return 1; }
}

# download_mnist NAME FILE: packed, into FILE, or 1, and said.
download_mnist() {
  download "$mnist_url/$1.gz" "$2" || return 1
  holds "$2" "${mnist_sha256[$1]}" ||
    { say "the download of $1.gz has another checksum than ${mnist_sha256[$1]}, so it is not used"; return 1; }
}
