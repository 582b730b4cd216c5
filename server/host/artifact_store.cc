#include "server/host/artifact_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "server/engine/context.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kAgain{5};  // after a failure of the place

std::string Gib(int64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30)); }

}  // namespace

ArtifactStore::ArtifactStore(ArtifactStoreOptions options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<ArtifactStore>> ArtifactStore::Open(ArtifactStoreOptions options) {
  if (!options.steady_us) options.steady_us = Clock::System().steady_us;
  const bool later = options.place->traits().lists_slowly;
  std::unique_ptr<ArtifactStore> store(new ArtifactStore(std::move(options)));
  if (later) {
    MutexLock lock(store->mutex_);
    for (const v1::BlobName& blob : store->options_.recorded) {
      store->Add(blob.digest(), blob.size());
      store->unseen_.insert(blob.digest());
    }
  } else if (absl::Status status = store->List(); !status.ok()) {
    return status;
  }
  store->remover_ = std::thread([raw = store.get(), later] {
    if (later) raw->ListLater();
    raw->Run();
  });
  return store;
}

ArtifactStore::~ArtifactStore() {
  EndWaits();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (remover_.joinable()) remover_.join();
}

void ArtifactStore::OnLoss(std::function<void(const std::string&)> on_loss) {
  {
    MutexLock lock(mutex_);
    on_loss_ = std::move(on_loss);
  }
  changed_.NotifyAll();
}

// Nothing has used it yet.
void ArtifactStore::Add(const std::string& digest, int64_t size) {
  if (blobs_.emplace(digest, Blob{size, false, options_.steady_us()}).second) used_ += size;
}

// Unclaimed blobs expire soon.
absl::Status ArtifactStore::List() {
  return options_.place->List([this](const std::string& digest, int64_t size) {
    MutexLock lock(mutex_);
    unseen_.erase(digest);
    // What is being written or removed is accounted for there.
    if (writing_.count(digest) == 0 && doomed_.count(digest) == 0) Add(digest, size);
  });
}

// Until the list is there, the recorded blobs are taken to be there.
void ArtifactStore::ListLater() {
  {
    MutexLock lock(mutex_);
    while (!stopping_ && !on_loss_) changed_.Wait(mutex_);
  }
  while (!List().ok()) {  // the place logs why
    MutexLock lock(mutex_);
    const auto again = std::chrono::steady_clock::now() + kAgain;
    while (!stopping_ && changed_.WaitUntil(mutex_, again)) {
    }
    if (stopping_) return;
  }
  std::set<std::string> unseen;
  {
    MutexLock lock(mutex_);
    unseen.swap(unseen_);
  }
  // Reading it says for certain that it is gone.
  BlobBuffer bytes;
  for (const std::string& digest : unseen) static_cast<void>(Get(digest, bytes));
}

std::vector<std::string> ArtifactStore::Missing(const std::vector<std::string>& digests) {
  std::vector<std::string> missing;
  const int64_t now = options_.steady_us();
  MutexLock lock(mutex_);
  for (const std::string& digest : digests) {
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) {
      missing.push_back(digest);
    } else {
      found->second.seen_us = now;
    }
  }
  return missing;
}

// Counts the bytes as used.
absl::Status ArtifactStore::Reserve(int64_t bytes) {
  if (used_ + bytes > options_.quota_bytes) ForgetUnclaimed();
  if (used_ + bytes > options_.quota_bytes) {
    return absl::ResourceExhaustedError(fmt::format(
        "the artifact store has {} of at most {}; start the server with a larger --artifact-quota-gib, or "
        "delete jobs",
        Gib(used_), Gib(options_.quota_bytes)));
  }
  if (absl::Status status = options_.place->HasRoom(bytes); !status.ok()) return status;
  used_ += bytes;
  return absl::OkStatus();
}

void ArtifactStore::ForgetUnclaimed() {
  const int64_t before = options_.steady_us() - options_.unclaimed_us;
  for (auto blob = blobs_.begin(); blob != blobs_.end();) {
    if (blob->second.claimed || blob->second.seen_us > before) {
      ++blob;
      continue;
    }
    used_ -= blob->second.size;
    doomed_.insert(blob->first);
    blob = blobs_.erase(blob);
  }
  changed_.NotifyAll();
}

absl::Status ArtifactStore::Put(const std::string& digest, std::string_view bytes) {
  if (bytes.empty() || static_cast<int64_t>(bytes.size()) > kBlobBytes) {
    return absl::InvalidArgumentError(
        fmt::format("a blob has 1 to {} bytes, not {}", kBlobBytes, bytes.size()));
  }
  if (DigestOf(bytes) != digest) {
    return absl::InvalidArgumentError(
        fmt::format("the bytes received for blob {} do not match its digest", digest));
  }
  const auto size = static_cast<int64_t>(bytes.size());
  {
    MutexLock lock(mutex_);
    if (blobs_.count(digest) > 0) return absl::OkStatus();
    if (absl::Status status = Reserve(size); !status.ok()) return status;
    // It is not removed from now on; a removal that has begun comes first.
    ++writing_[digest];
    while (removing_ == digest) changed_.Wait(mutex_);
  }
  const absl::Status written = options_.place->Write(digest, bytes);
  {
    MutexLock lock(mutex_);
    if (--writing_[digest] == 0) writing_.erase(digest);
    bool kept = false;
    if (written.ok()) {
      doomed_.erase(digest);
      unseen_.erase(digest);
      kept = blobs_.emplace(digest, Blob{size, false, options_.steady_us()}).second;
    } else if (blobs_.count(digest) == 0) {
      doomed_.insert(digest);  // it may be there all the same
    }
    if (!kept) used_ -= size;  // or another call stored it first
  }
  changed_.NotifyAll();
  return written;
}

absl::Status ArtifactStore::Get(const std::string& digest, BlobBuffer& into) {
  const absl::Status gone = absl::NotFoundError(fmt::format("there is no blob {}", digest));
  int64_t size = 0;
  {
    MutexLock lock(mutex_);
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return gone;
    size = found->second.size;
  }
  const absl::Status read = options_.place->Read(digest, std::clamp<int64_t>(size, 0, kBlobBytes) + 1, into);
  if (read.ok() && DigestOf(into.bytes()) == digest) return read;
  if (absl::IsDataLoss(read)) {
    // What cannot be read now may be read later, as once a cable is in its place: only other bytes are a
    // loss.
    spdlog::error("artifacts: blob {} cannot be read: {}", digest, std::string(read.message()));
    return absl::UnavailableError(read.message());
  }
  if (!read.ok() && !absl::IsNotFound(read)) return read;
  std::function<void(const std::string&)> on_loss;
  {
    MutexLock lock(mutex_);
    if (blobs_.erase(digest) == 0) return gone;  // it was removed in the meantime
    used_ -= size;
    doomed_.insert(digest);
    on_loss = on_loss_;
  }
  changed_.NotifyAll();
  spdlog::error("artifacts: blob {} is damaged or gone ({}); removing it", digest,
                options_.place->NameOf(digest));
  if (on_loss) on_loss(digest);
  return absl::DataLossError(fmt::format("blob {} was damaged where the server keeps it", digest));
}

bool ArtifactStore::Claim(const v1::BlobName& blob) {
  MutexLock lock(mutex_);
  const auto found = blobs_.find(blob.digest());
  if (found == blobs_.end() || found->second.size != blob.size()) return false;
  found->second.claimed = true;
  return true;
}

void ArtifactStore::Forget(const std::string& digest) {
  {
    MutexLock lock(mutex_);
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return;
    used_ -= found->second.size;
    blobs_.erase(found);
    doomed_.insert(digest);
  }
  changed_.NotifyAll();
}

int64_t ArtifactStore::used_bytes() {
  MutexLock lock(mutex_);
  return used_;
}

void ArtifactStore::AwaitRemoval() {
  MutexLock lock(mutex_);
  while (!doomed_.empty()) changed_.Wait(mutex_);
}

// Not one that is being written. "": there is none.
std::string ArtifactStore::NextDoomed() const {
  for (const std::string& digest : doomed_) {
    if (writing_.count(digest) == 0) return digest;
  }
  return "";
}

// The remover's thread.
void ArtifactStore::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    removing_ = NextDoomed();
    if (removing_.empty()) {
      changed_.WaitUntil(mutex_,
                         std::chrono::steady_clock::now() + std::chrono::microseconds(options_.unclaimed_us));
      ForgetUnclaimed();
      continue;
    }
    const std::string digest = removing_;
    lock.Unlock();
    const absl::Status removed = options_.place->Remove(digest);
    lock.Lock();
    removing_.clear();
    if (removed.ok()) doomed_.erase(digest);
    changed_.NotifyAll();
    if (removed.ok()) continue;
    const auto again = std::chrono::steady_clock::now() + kAgain;
    while (!stopping_ && changed_.WaitUntil(mutex_, again)) {
    }
  }
}

}  // namespace winnow
