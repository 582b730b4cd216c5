#include "server/host/blobs/blob_bucket.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <random>

#include "artifact/digest.h"
#include "base/status_text.h"

namespace winnow {
namespace {

constexpr int64_t kIdentityBytes = 256;

}  // namespace

absl::Status BlobBucket::Probe() {
  std::random_device random;
  return bucket_->Probe(fmt::format("{}{:08x}{:08x}.probe", prefix_, random(), random()));
}

std::string BlobBucket::KeyOf(const std::string& digest) const {
  return fmt::format("{}blobs/{}/{}", prefix_, digest.substr(0, 2), digest);
}

std::string BlobBucket::NameOf(const std::string& digest) const {
  return fmt::format("{}, object {}", name(), KeyOf(digest));
}

absl::Status BlobBucket::TakeFor(const std::string& identity, bool has_blobs) {
  {
    MutexLock lock(mutex_);
    identity_ = identity;
    has_blobs_ = has_blobs;
  }
  const absl::Status taken = Taken();
  return absl::IsAlreadyExists(taken) ? absl::FailedPreconditionError(MessageOf(taken)) : AtWork(taken);
}

absl::Status BlobBucket::Taken() {
  std::string identity;
  bool has_blobs = false;
  {
    MutexLock lock(mutex_);
    identity = identity_;
    has_blobs = has_blobs_;
  }
  if (identity.empty()) return absl::OkStatus();
  const std::string key = prefix_ + "database", text = identity + "\n";
  BlobBuffer owner;
  absl::Status status = bucket_->Get(key, kIdentityBytes, owner);
  if (absl::IsNotFound(status) && has_blobs) {
    return absl::AlreadyExistsError(MissingArtifacts(fmt::format("{} under \"{}\"", name(), prefix_)));
  }
  if (absl::IsNotFound(status)) {
    status = bucket_->Put(key, text, DigestOf(text));
  } else if (status.ok() && owner.bytes() != text) {
    return absl::AlreadyExistsError(
        fmt::format("{} has the artifacts of another database under \"{}\" (its object {} says so); expected "
                    "another prefix in --artifacts",
                    name(), prefix_, key));
  }
  if (!status.ok()) return status;
  MutexLock lock(mutex_);
  identity_.clear();
  return absl::OkStatus();
}

absl::Status BlobBucket::AtWork(const absl::Status& status) {
  if (absl::IsNotFound(status)) return status;
  const std::string text = MessageOf(status);
  {
    MutexLock lock(mutex_);
    if (!status.ok() && text != told_) spdlog::warn("artifacts: {}", text);
    told_ = text;
  }
  const bool is_refusal = absl::IsFailedPrecondition(status) || absl::IsAlreadyExists(status);
  return is_refusal ? absl::UnavailableError(text) : status;
}

absl::Status BlobBucket::List(const std::function<void(const std::string& digest, int64_t size)>& found) {
  absl::Status status = Taken();
  if (status.ok()) {
    status = bucket_->List(prefix_ + "blobs/", [&](const std::string& key, int64_t size) {
      const std::string digest = key.substr(key.rfind('/') + 1);
      if (IsDigest(digest) && key == KeyOf(digest)) found(digest, size);
    });
  }
  return AtWork(status);
}

absl::Status BlobBucket::Write(const std::string& digest, std::string_view bytes) {
  const absl::Status taken = Taken();
  return AtWork(taken.ok() ? bucket_->Put(KeyOf(digest), bytes, digest) : taken);
}

absl::Status BlobBucket::Read(const std::string& digest, int64_t most, BlobBuffer& into) {
  const absl::Status taken = Taken();
  return AtWork(taken.ok() ? bucket_->Get(KeyOf(digest), most, into) : taken);
}

absl::Status BlobBucket::Remove(const std::string& digest) {
  const absl::Status taken = Taken();
  return AtWork(taken.ok() ? bucket_->Delete(KeyOf(digest)) : taken);
}

}  // namespace winnow
