#!/bin/sh
# winnow-server as a job of Slurm, with a standby: submitted twice, the second waits until the first has ended, for whatever
# reason, and goes on with its database, which is in a directory that the nodes share. Arguments are those of winnow-server:
#
#   for i in 1 2; do sbatch examples/slurm-server.sh --db /shared/winnow/winnow.db --listen head:7070 --pools pools.json; done
#
# Slurm starts at most one of the jobs of one name and user at a time. Give them a node or a partition whose address clients and workers
# know (--nodelist, --partition). Trials go on while the standby starts; workers find it at the same address.
#SBATCH --job-name=winnow-server
#SBATCH --dependency=singleton
#SBATCH --no-requeue
#SBATCH --signal=B:TERM@60
exec "${WINNOW_SERVER_PROGRAM:-winnow-server}" --local-workers 0 "$@"
