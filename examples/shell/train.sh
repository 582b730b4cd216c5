#!/bin/sh
# A trainer in a few lines of shell and awk: descends x^2 + 3 (y - 1)^2 from (4, -2). It saves no checkpoint and takes no
# level to stop at, so its job file has "resumes": false, and Winnow stops it once it has reported enough.
#
#     train.sh STEP MOMENTUM [STEPS]
set -eu

if [ $# -lt 2 ]; then
  echo "usage: train.sh STEP MOMENTUM [STEPS]" >&2
  exit 2
fi

exec awk -v step="$1" -v momentum="$2" -v steps="${3:-27}" 'BEGIN {
  x = 4; y = -2
  for (i = 1; i <= steps; i++) {
    vx = momentum * vx - step * 2 * x
    vy = momentum * vy - step * 6 * (y - 1)
    x += vx; y += vy
    printf "step %d loss=%.6g\n", i, x * x + 3 * (y - 1) * (y - 1)
    fflush()
  }
}'
