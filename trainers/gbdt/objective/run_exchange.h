#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/objective/tie_runs.h"

namespace winnow::gbdt {

// Every rank gives the keys or runs of its rows and gets those of one range of scores from all ranks, sorted
// into one list; higher ranks get higher scores. The ranges are about equal, and no score is in two.
absl::StatusOr<PlainKeys> ExchangeKeys(const PlainKeys& mine, Communicator* communicator);
absl::StatusOr<std::vector<TieRun>> ExchangeRuns(const std::vector<TieRun>& mine, Communicator* communicator);

// Writes whole numbers as bytes, fewer for smaller ones. Ascending numbers are best written as differences.
class NumberWriter {
 public:
  void Write(uint64_t number);
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};
class NumberReader {
 public:
  explicit NumberReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  bool done() const { return at_ == end_; }
  uint64_t Read();  // 0 at the end

 private:
  const char* at_;
  const char* const end_;
};

}  // namespace winnow::gbdt
