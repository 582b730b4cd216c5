#!/bin/sh
# Workers on the nodes that mpirun has, where there is no other way to start programs there:
#
#   mpirun --map-by ppr:1:node --enable-recovery mpi-workers.sh --server HOST:7070 [flags of winnow-worker]
#
# One worker a process. With --enable-recovery the others go on when one is lost. SIGTERM to mpirun, which the site's
# scheduler sends at the end, makes all of them hand back their trials and leave.
set -eu
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?expected to be started by mpirun}}
# What mpirun tells its programs is not for trials, which may be MPI programs themselves.
for variable in $(env | sed -n 's/^\(OMPI_[A-Za-z0-9_]*\|PMIX_[A-Za-z0-9_]*\|PMI_[A-Za-z0-9_]*\)=.*/\1/p'); do
  unset "$variable"
done
exec winnow-worker --name "$(hostname | cut -c1-50)-mpi-$rank" "$@"
