#include "trainers/common/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace winnow {
namespace {

constexpr std::uintptr_t kHugePage = 2 << 20;
constexpr std::uintptr_t kChunkHeader = 4 * sizeof(void*);  // at most what malloc adds to a request

// What is in front of the first huge page, so that the next arrays begin with that page. It is never written,
// and so takes no memory.
void* in_front = nullptr;

}  // namespace

void PreferHugePages(std::size_t bytes) {
  if (bytes < kHugePage || in_front != nullptr) return;
  void* const room = std::malloc(bytes + 2 * kHugePage);
  if (room == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(room);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t length = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  madvise(reinterpret_cast<void*>(first), length, MADV_HUGEPAGE);
  std::free(room);
  if (first - begin > kChunkHeader) in_front = std::malloc(first - begin - kChunkHeader);
}

}  // namespace winnow
