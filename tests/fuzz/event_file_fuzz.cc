// A TensorBoard event file as a program writes it: the length of the pieces in which it is read, and its
// bytes.

#include <bit>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "worker/metrics/event_reader.h"

namespace {

struct Read {
  std::vector<winnow::MetricRecord> records;
  bool failed = false;
};

Read ReadIn(std::string_view bytes, size_t piece) {
  Read read;
  winnow::EventReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const absl::Status status = reader.Add(
        bytes.substr(0, piece), [&](const winnow::MetricRecord& record) { read.records.push_back(record); });
    read.failed = read.failed || !status.ok();
  }
  return read;
}

bool Same(const winnow::MetricRecord& a, const winnow::MetricRecord& b) {
  return std::equal(
      a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), [](const auto& x, const auto& y) {
        return x.first == y.first && std::bit_cast<uint64_t>(x.second) == std::bit_cast<uint64_t>(y.second);
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  fuzz::Input input(data, size);
  const size_t piece = 1 + input.Number();
  const Read whole = ReadIn(input.rest(), size + 1);
  const Read cut = ReadIn(input.rest(), piece);
  fuzz::Require(whole.failed == cut.failed, "an error does not depend on how the file is cut");
  fuzz::Require(
      std::equal(whole.records.begin(), whole.records.end(), cut.records.begin(), cut.records.end(), Same),
      "records do not depend on how the file is cut");
  for (const MetricRecord& record : whole.records) {
    fuzz::Require(record.values.size() > 1 && record.values[0].first == "step",
                  "a record has a step and a value");
  }
  return 0;
}
