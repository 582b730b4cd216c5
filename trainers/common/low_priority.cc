#include "trainers/common/low_priority.h"

#include <sys/resource.h>

#include <thread>

namespace winnow {
namespace {

// Its share of a processor that another thread wants too is a quarter, so that it ends in time there as well.
constexpr int kNicer = 5;

}  // namespace

absl::Status AtLowPriority(const std::function<absl::Status()>& work) {
  absl::Status status;
  std::thread thread([&] {
    // On Linux both are of the calling thread. Where it is refused, the priority stays.
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNicer);
    status = work();
  });
  thread.join();
  return status;
}

}  // namespace winnow
