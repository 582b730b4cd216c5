#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/train_files.h"
#include "trainers/data/cache/data_cache.h"
#include "trainers/data/content_key.h"

namespace winnow {

// The data of a training run, as files that its ranks read and as an entry of the host's cache.
class DataSource {
 public:
  // The files of a path that this rank reads: its own if they are sharded.
  using ListFunction = std::function<absl::StatusOr<std::vector<std::string>>(
      const std::string& path, const DataOptions& reading, bool sharded)>;

  // `files` and `ranks` outlive it.
  DataSource(const TrainFiles& files, Communicator* ranks, int threads);

  // Whether validation data, if any, are split off the training data.
  bool splits() const { return files_.validation_path.empty(); }
  bool train_sharded() const { return files_.train_sharded && ranks_.size() > 1; }
  bool validation_sharded() const {
    return splits() ? train_sharded() : files_.validation_sharded && ranks_.size() > 1;
  }
  const std::string& validation_path() const { return splits() ? files_.train_path : files_.validation_path; }

  // Returns `problem`, an error of files and their content, with the data's name before it: "channel train:
  // /data/t.csv: …". Errors of the group of ranks stay unchanged, because they are recognised by their words.
  absl::Status OfTrain(const absl::Status& problem) const;
  absl::Status OfValidation(const absl::Status& problem) const;

  // Returns the key of the data that this rank reads; `extra` is what else they depend on.
  absl::StatusOr<std::string> Key(std::string_view extra, const ListFunction& list);
  // Returns the key of what the ranks make together of the data that each reads, and its own `title`. All
  // ranks call it.
  absl::StatusOr<std::string> KeyOfAll(const std::string& title, const std::string& own);
  // Not OK if a file has changed since Key.
  absl::Status CheckUnchanged() const;

  // Returns the entry, which `build` makes if it is missing.
  absl::StatusOr<MappedFile> Open(const std::string& key, const DataCache::Builder& build);
  // Returns the entry; NotFound if it is missing.
  absl::StatusOr<MappedFile> Find(const std::string& key);
  // Whether `found` holds on all ranks. Ranks that read together may not wait for the lock of an entry: each
  // looks for its entry, and what all have made otherwise is stored. All ranks call it.
  absl::StatusOr<bool> AllFound(bool found);

  // Why the cache is not used, or an entry was not kept; "": no problem.
  const std::string& cache_warning() const { return cache_warning_; }

 private:
  const TrainFiles& files_;
  Communicator& ranks_;
  const int threads_;
  std::string cache_warning_;
  const DataCache cache_;
  std::vector<ContentKey> contents_;  // of Key
};

}  // namespace winnow
