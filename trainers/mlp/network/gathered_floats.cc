#include "trainers/mlp/network/gathered_floats.h"

#include <cstring>
#include <string>

namespace winnow::mlp {

absl::StatusOr<std::vector<float>> GatherFloats(std::span<const float> mine, Communicator* ranks) {
  if (ranks->size() == 1) return std::vector<float>(mine.begin(), mine.end());
  const absl::StatusOr<std::vector<std::string>> gathered =
      ranks->AllGather({reinterpret_cast<const char*>(mine.data()), mine.size_bytes()});
  if (!gathered.ok()) return gathered.status();
  std::vector<float> all;
  for (const std::string& one : *gathered) {
    const std::size_t at = all.size();
    all.resize(at + one.size() / sizeof(float));
    if (!one.empty()) std::memcpy(all.data() + at, one.data(), one.size());
  }
  return all;
}

}  // namespace winnow::mlp
