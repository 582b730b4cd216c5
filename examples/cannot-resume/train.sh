#!/bin/sh
# A trainer that keeps what it has learned in memory alone: descends (x - 1)^2 from 4, an epoch a hundredth of a second.
#
#     train.sh STEP EPOCHS
set -eu
epoch=0
x=4
while [ "$epoch" -lt "$2" ]; do
  sleep 0.01
  epoch=$((epoch + 1))
  x=$(awk -v x="$x" -v step="$1" 'BEGIN { printf "%.9g", x - 2 * step * (x - 1) }')
  awk -v x="$x" -v epoch="$epoch" 'BEGIN { printf "epoch=%d loss=%.6g\n", epoch, (x - 1) * (x - 1) }'
done
