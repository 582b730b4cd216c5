#include "server/host/blobs/blob_bucket.h"

#include <fmt/format.h>

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
  const std::string text = fmt::format("probe {:08x}{:08x}", random(), random());
  const std::string key = prefix_ + text.substr(6) + ".probe";
  absl::Status status = bucket_->Put(key, text, DigestOf(text));
  if (status.ok()) {
    const absl::StatusOr<std::string> read = bucket_->Get(key, kIdentityBytes);
    status = read.status();
    if (read.ok() && *read != text)
      status = absl::UnavailableError(name() + ": an object has another content than was written");
  }
  if (status.ok()) status = bucket_->Delete(key);
  return status.ok() ? status : absl::FailedPreconditionError(MessageOf(status));
}

std::string BlobBucket::KeyOf(const std::string& digest) const {
  return fmt::format("{}blobs/{}/{}", prefix_, digest.substr(0, 2), digest);
}

std::string BlobBucket::NameOf(const std::string& digest) const {
  return fmt::format("{}, object {}", name(), KeyOf(digest));
}

absl::Status BlobBucket::TakeFor(const std::string& identity) {
  {
    MutexLock lock(mutex_);
    identity_ = identity;
  }
  const std::string key = prefix_ + "database", text = identity + "\n";
  absl::StatusOr<std::string> owner = bucket_->Get(key, kIdentityBytes);
  absl::Status status = owner.status();
  if (absl::IsNotFound(status)) {
    owner = text;
    status = bucket_->Put(key, text, DigestOf(text));
  }
  if (!status.ok()) return status;
  if (*owner != text) {
    return absl::FailedPreconditionError(
        fmt::format("{} has the artifacts of another database under \"{}\" (its object {} says so); expected "
                    "another prefix in --artifacts",
                    name(), prefix_, key));
  }
  MutexLock lock(mutex_);
  identity_.clear();
  return absl::OkStatus();
}

absl::Status BlobBucket::List(const std::function<void(const std::string& digest, int64_t size)>& found) {
  std::string identity;
  {
    MutexLock lock(mutex_);
    identity = identity_;
  }
  if (!identity.empty()) {
    if (absl::Status status = TakeFor(identity); !status.ok()) return status;
  }
  return bucket_->List(prefix_ + "blobs/", [&](const std::string& key, int64_t size) {
    const std::string digest = key.substr(key.rfind('/') + 1);
    if (IsDigest(digest) && key == KeyOf(digest)) found(digest, size);
  });
}

absl::Status BlobBucket::Write(const std::string& digest, std::string_view bytes) {
  return bucket_->Put(KeyOf(digest), bytes, digest);
}

absl::StatusOr<std::string> BlobBucket::Read(const std::string& digest, int64_t most) {
  return bucket_->Get(KeyOf(digest), most);
}

absl::Status BlobBucket::Remove(const std::string& digest) { return bucket_->Delete(KeyOf(digest)); }

}  // namespace winnow
