#include "tests/worker/collective/make_group.h"

#include "worker/collective/thread_ranks.h"

namespace winnow {

std::vector<std::string> GroupKinds() { return {"threads"}; }

std::vector<std::unique_ptr<Communicator>> MakeGroup(const std::string&, int size,
                                                     std::chrono::milliseconds patience) {
  return MakeThreadRanks(size, patience);
}

}  // namespace winnow
