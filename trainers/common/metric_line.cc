#include "trainers/common/metric_line.h"

#include <fmt/format.h>

#include <iterator>

namespace winnow {

void PrintMetricLine(std::FILE* out, int64_t level, std::span<const std::string> names,
                     std::span<const float> values) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "[{}]", level);
  for (std::size_t m = 0; m < names.size(); ++m)
    fmt::format_to(std::back_inserter(line), "\t{}:{}", names[m], values[m]);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), out);
  std::fflush(out);
}

}  // namespace winnow
