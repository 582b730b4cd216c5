#!/bin/sh
# Descends x^2 + 3 (y - 1)^2 from (4, -2) by one of three rules. Two of its arguments apply to some rules only: the
# search space of conditional-space.json has conditions for them, and leaves them out otherwise.
#
#     descend.sh --step STEP --kind plain|heavy|adaptive [--momentum M] [--decay=D]
set -eu

step=""; kind=""; momentum=0; decay=0
while [ $# -gt 0 ]; do
  case $1 in
  --step) step=$2; shift 2 ;;
  --kind) kind=$2; shift 2 ;;
  --momentum) momentum=$2; shift 2 ;;
  --decay=*) decay=${1#--decay=}; shift ;;
  *) echo "descend.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done

exec awk -v step="$step" -v kind="$kind" -v momentum="$momentum" -v decay="$decay" 'BEGIN {
  x = 4; y = -2; sx = 1; sy = 1
  for (i = 1; i <= 27; i++) {
    gx = 2 * x; gy = 6 * (y - 1)
    if (kind == "adaptive") {
      sx = decay * sx + (1 - decay) * gx * gx
      sy = decay * sy + (1 - decay) * gy * gy
    }
    vx = momentum * vx - step * gx / sqrt(sx)
    vy = momentum * vy - step * gy / sqrt(sy)
    x += vx; y += vy
    printf "step %d loss=%.6g\n", i, x * x + 3 * (y - 1) * (y - 1)
    fflush()
  }
}'
