#include "trainers/common/data_source.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_replace.h"
#include "base/status_text.h"
#include "trainers/collective/group_error.h"

namespace winnow {
namespace {

// `path`: of the data, if it names memory; errors do not show it.
absl::Status OfData(const std::string& name, const std::string& path, const absl::Status& problem) {
  const bool of_group = RankToBlame(problem).has_value() || absl::IsInternal(problem) ||
                        absl::IsUnavailable(problem) || absl::IsDeadlineExceeded(problem) ||
                        absl::IsCancelled(problem);
  if (problem.ok() || of_group) return problem;
  std::string message = MessageOf(problem);
  if (!path.empty()) message = absl::StrReplaceAll(message, {{path, "the pipe"}});
  return absl::Status(problem.code(), name + ": " + message);
}

DataCache CacheFor(const TrainFiles& files, std::string* warning) {
  return files.train_piped || files.validation_piped ? DataCache::None()
                                                     : DataCache::FromEnvironment(warning);
}

}  // namespace

DataSource::DataSource(const TrainFiles& files, Communicator* ranks, int threads)
    : files_(files), ranks_(*ranks), threads_(threads), cache_(CacheFor(files, &cache_warning_)) {}

absl::Status DataSource::OfTrain(const absl::Status& problem) const {
  return OfData(files_.train_name, files_.train_piped ? files_.train_path : "", problem);
}

absl::Status DataSource::OfValidation(const absl::Status& problem) const {
  if (splits()) return OfTrain(problem);
  return OfData(files_.validation_name, files_.validation_piped ? files_.validation_path : "", problem);
}

absl::StatusOr<std::string> DataSource::Key(std::string_view extra, const ListFunction& list) {
  const auto key_of = [&](const std::string& path, const DataOptions& reading, bool sharded,
                          std::string_view more) -> absl::StatusOr<std::string> {
    const absl::StatusOr<std::vector<std::string>> files = list(path, reading, sharded);
    if (!files.ok()) return files.status();
    absl::StatusOr<ContentKey> key = KeyOfFiles(*files, reading, more, cache_.folder(), threads_);
    if (!key.ok()) return key.status();
    contents_.push_back(*std::move(key));
    return contents_.back().text();
  };
  const absl::StatusOr<std::string> train =
      key_of(files_.train_path, files_.train_reading, train_sharded(), extra);
  if (!train.ok()) return OfTrain(train.status());
  if (splits()) return train;
  const absl::StatusOr<std::string> validation =
      key_of(files_.validation_path, files_.validation_reading, validation_sharded(), "");
  if (!validation.ok()) return OfValidation(validation.status());
  return *train + "\n" + *validation;
}

absl::StatusOr<std::string> DataSource::KeyOfAll(const std::string& title, const std::string& own) {
  const auto all = ranks_.AllGather(own);
  if (!all.ok()) return all.status();
  std::string key = title;
  for (const std::string& one : *all) key += "\n" + one;
  return key;
}

absl::Status DataSource::CheckUnchanged() const {
  for (const ContentKey& content : contents_) {
    if (absl::Status status = content.CheckUnchanged(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<MappedFile> DataSource::Open(const std::string& key, const DataCache::Builder& build) {
  std::string why_not_kept;
  absl::StatusOr<MappedFile> file = cache_.GetOrBuild(key, build, &why_not_kept);
  if (file.ok() && !why_not_kept.empty()) cache_warning_ = std::move(why_not_kept);
  return file;
}

absl::StatusOr<MappedFile> DataSource::Find(const std::string& key) {
  return Open(key, [](SectionWriter&) { return absl::NotFoundError("no entry"); });
}

absl::StatusOr<bool> DataSource::AllFound(bool found) {
  uint64_t having = found;
  if (absl::Status status = ranks_.AllReduceSum({&having, 1}); !status.ok()) return status;
  return having == static_cast<uint64_t>(ranks_.size());
}

}  // namespace winnow
