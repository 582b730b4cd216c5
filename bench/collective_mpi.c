// The yardstick of bench-collective: MPI_Allreduce of 32-bit sums. Prints what bench-collective's ranks print:
// "bytes median-us cpu-us", a line a size; arguments: pairs of bytes and operations.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double CpuSeconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int Compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int a = 1; a + 1 < argc; a += 2) {
    const int bytes = atoi(argv[a]), count = atoi(argv[a + 1]), words = bytes / 4;
    uint32_t* data = calloc((size_t)words, 4);
    double* times = calloc((size_t)count, sizeof(double));
    for (int i = 0; i < count / 10 + 1; ++i)
      MPI_Allreduce(MPI_IN_PLACE, data, words, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
    const double cpu = CpuSeconds();
    for (int i = 0; i < count; ++i) {
      const double start = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data, words, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
      times[i] = MPI_Wtime() - start;
    }
    double mine = CpuSeconds() - cpu, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    qsort(times, (size_t)count, sizeof(double), Compare);
    if (rank == 0) printf("%d %.2f %.2f\n", bytes, times[count / 2] * 1e6, all * 1e6 / count);
    free(data);
    free(times);
  }
  MPI_Finalize();
  return 0;
}
