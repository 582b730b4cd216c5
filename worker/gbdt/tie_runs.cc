#include "worker/gbdt/tie_runs.h"

#include <string>
#include <string_view>

namespace winnow {
namespace {

constexpr int kGroupBits = 7;  // of a number per byte; the bit above says that more follow
constexpr uint64_t kMore = 1u << kGroupBits;

void Append(uint64_t number, std::string* bytes) {
  for (; number >= kMore; number >>= kGroupBits)
    bytes->push_back(static_cast<char>((number & (kMore - 1)) | kMore));
  bytes->push_back(static_cast<char>(number));
}

uint64_t Take(std::string_view* bytes) {
  uint64_t number = 0;
  for (int shift = 0; !bytes->empty(); shift += kGroupBits) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    number |= (byte & (kMore - 1)) << shift;
    if (byte < kMore) break;
  }
  return number;
}

}  // namespace

std::string EncodeRuns(std::span<const TieRun> runs) {
  std::string bytes;
  uint64_t last = uint64_t{1} << 32;  // above every key
  for (const TieRun& run : runs) {
    Append(last - run.key, &bytes);
    Append(run.positive, &bytes);
    Append(run.negative, &bytes);
    last = run.key;
  }
  return bytes;
}

std::vector<TieRun> DecodeRuns(std::string_view bytes) {
  std::vector<TieRun> runs;
  uint64_t last = uint64_t{1} << 32;
  while (!bytes.empty()) {
    TieRun run;
    last = run.key = last - Take(&bytes);
    run.positive = Take(&bytes);
    run.negative = Take(&bytes);
    runs.push_back(run);
  }
  return runs;
}

}  // namespace winnow
