#include "trainers/common/huge_pages.h"

#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasHeap = false;  // the sanitizer's own, which is not asked for
#else
constexpr bool kHasHeap = true;
#endif

namespace winnow {
namespace {

// Whether huge pages were asked for where the address is.
bool IsAdvised(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream file("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') is_there = begin <= at && at < end;
    if (is_there && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("PreferHugePages: what is taken from the heap afterwards has them, and what is little does not",
          "[trainers]") {
  if (!kHasHeap || !std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    return Skip("this heap, or this kernel, has no huge pages");
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  PreferHugePages(1 << 20);
  {
    const std::vector<char> little(1 << 20, 'a');
    CHECK_FALSE(IsAdvised(little.data()));
  }
  PreferHugePages(16 << 20);
  const std::vector<char> first(6 << 20, 'b'), second(6 << 20, 'c');
  CHECK(IsAdvised(first.data() + first.size() / 2));
  CHECK(IsAdvised(second.data() + second.size() / 2));
  CHECK(first.front() + first.back() + second.front() + second.back() == 2 * 'b' + 2 * 'c');
}

}  // namespace winnow
