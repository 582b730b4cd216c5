#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "worker/metrics/metric_record.h"

namespace winnow {

// Reads the scalars of a TensorBoard event file as it grows. The file is a sequence of records: length (8
// bytes), its masked CRC-32C, an Event message (tensorflow/core/util/event.proto), its masked CRC-32C. A
// scalar is a `simple_value`, or a tensor of one float, double or integer. Each record gives its values under
// their tags, and "step". Records above 4 MiB, which are images and graphs, are skipped without being kept.
class EventReader {
 public:
  using Take = std::function<void(const MetricRecord&)>;

  // Any division of the file into pieces gives the same. DATA_LOSS: it is no event file, or it is damaged;
  // then nothing more is read.
  absl::Status Add(std::string_view bytes, const Take& take);

 private:
  absl::Status error_;
  std::string kept_;   // a record that is not complete yet
  uint64_t skip_ = 0;  // bytes of a large record that are still to come
};

}  // namespace winnow
