// Least squares with MPI; it knows nothing of Winnow. train LEARNING_RATE EPOCH_TO_STOP_AT FOLDER
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** arguments) {
  int rank, world;
  double state[2] = {0, 0};  // epoch, weight
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (count != 4 || chdir(arguments[3]) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  FILE* file = rank == 0 ? fopen("last", "rb") : NULL;
  if (file != NULL && fread(state, sizeof state, 1, file) != 1) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Bcast(state, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  while (state[0]++ < atof(arguments[2])) {
    double sums[2] = {0, 0};  // squares, points
    for (int i = rank; i < 1000000; i += world) sums[0] += i * 1e-6 * i * 1e-6, sums[1] += 1;
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double square = sums[0] / sums[1];
    state[1] -= atof(arguments[1]) * 2 * (state[1] - 3) * square;
    if (rank == 0 && ((file = fopen("last.part", "wb")) == NULL || fwrite(state, sizeof state, 1, file) != 1 ||
                      fclose(file) != 0 || rename("last.part", "last") != 0)) MPI_Abort(MPI_COMM_WORLD, 4);
    double off = state[1] - 3;
    if (rank == 0) printf("epoch %.0f: loss=%.9g (%d processes)\n", state[0], off * off * square, world), fflush(stdout);
  }
  return MPI_Finalize();
}
