#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include "trainers/collective/tls/rank_identity.h"

namespace winnow {

// The credentials of the ranks of an attempt of trial 1 of job "test", each in a folder of its own; removed
// with it.
class Credentials {
 public:
  explicit Credentials(int ranks, int attempt = 1, std::time_t now = std::time(nullptr));
  ~Credentials();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder(int rank) const { return root_ / std::to_string(rank); }
  // With a new key after every few records.
  std::shared_ptr<const RankIdentity> Identity(int rank) const;

 private:
  const int attempt_;
  std::filesystem::path root_;
};

}  // namespace winnow
