#include "server/engine/worker_names.h"

namespace winnow {

bool IsWorkerOf(std::string_view allocation, std::string_view worker) {
  if (!worker.starts_with(allocation)) return false;
  worker.remove_prefix(allocation.size());
  if (worker.empty() || (worker[0] != '.' && worker[0] != '-')) return false;
  const bool pod = worker[0] == '-';
  worker.remove_prefix(1);
  const size_t index_end = worker.find_first_not_of("0123456789");
  if (pod && index_end != 0 && index_end != std::string_view::npos && worker[index_end] == '-')
    worker.remove_prefix(index_end + 1);
  return !worker.empty() && worker.find_first_of(".-") == std::string_view::npos;
}

}  // namespace winnow
