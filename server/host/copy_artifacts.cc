#include "server/host/copy_artifacts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "base/task_threads.h"
#include "server/host/own_database.h"

namespace winnow {
namespace {

// Copies blobs on several threads.
class BlobCopy {
 public:
  BlobCopy(BlobPlace& from, BlobPlace& to, const TellFinding& tell) : from_(from), to_(to), tell_(tell) {}

  absl::StatusOr<CopiedArtifacts> Run(const std::vector<BlobRow>& blobs) {
    absl::Status listed =
        to_.List([this](const std::string& digest, int64_t size) { there_[digest] = size; });
    if (!listed.ok()) return listed;
    {
      TaskThreads threads(std::max(from_.traits().parallel, to_.traits().parallel));
      for (const BlobRow& blob : blobs) threads.Post([this, &blob] { CopyOne(blob); });
    }
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    return copied_;
  }

 private:
  // Whether it is there, whole. Not OK: that cannot be said now.
  absl::StatusOr<bool> IsSound(BlobPlace& place, const BlobRow& blob, BlobBuffer& bytes) {
    const absl::Status read =
        place.Read(blob.digest, std::clamp<int64_t>(blob.size, 0, kBlobBytes) + 1, bytes);
    if (absl::IsNotFound(read) || absl::IsDataLoss(read)) return false;
    if (!read.ok()) return read;
    return bytes.size() == blob.size && DigestOf(bytes.bytes()) == blob.digest;
  }

  void CopyOne(const BlobRow& blob) {
    {
      MutexLock lock(mutex_);
      if (!failure_.ok()) return;
    }
    const auto there = there_.find(blob.digest);
    BlobBuffer bytes;
    absl::StatusOr<bool> sound = false;
    if (there != there_.end() && there->second == blob.size) sound = IsSound(to_, blob, bytes);
    if (!sound.ok()) return Fail(sound.status());
    const bool fresh = !*sound;
    if (fresh) {
      sound = IsSound(from_, blob, bytes);
      if (!sound.ok()) return Fail(sound.status());
      if (!*sound) return Leave(blob);
      absl::Status status = to_.HasRoom(blob.size);
      if (status.ok()) status = to_.Write(blob.digest, bytes.bytes());
      if (!status.ok()) return Fail(status);
      sound = IsSound(to_, blob, bytes);
      if (!sound.ok()) return Fail(sound.status());
      if (!*sound)
        return Fail(absl::DataLossError(to_.NameOf(blob.digest) + " differs from what was written to it"));
    }
    MutexLock lock(mutex_);
    ++copied_.blobs;
    copied_.bytes += blob.size;
    if (fresh) ++copied_.copied;
  }

  void Leave(const BlobRow& blob) {
    MutexLock lock(mutex_);
    ++copied_.findings;
    tell_(fmt::format("blob {} is missing or damaged: {}", blob.digest, from_.NameOf(blob.digest)));
  }

  void Fail(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (failure_.ok()) failure_ = status;
  }

  BlobPlace& from_;
  BlobPlace& to_;
  const TellFinding& tell_;
  std::map<std::string, int64_t> there_;  // with their sizes, before the copy
  Mutex mutex_;
  CopiedArtifacts copied_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<CopiedArtifacts> CopyArtifacts(const std::string& database, BlobPlace& from, BlobPlace& to,
                                              const TellFinding& tell) {
  if (!IsPostgres(database) && !std::filesystem::exists(database))
    return absl::NotFoundError(database + ": no such file; name the database with --db");
  const absl::StatusOr<OwnDatabase> own = TakeDatabase(database);
  if (!own.ok()) return own.status();
  const absl::StatusOr<std::string> identity = own->store->Identity();
  if (!identity.ok()) return identity.status();
  if (absl::Status status = to.TakeFor(*identity, false); !status.ok()) return status;
  const absl::StatusOr<std::vector<BlobRow>> blobs = own->store->artifacts.Blobs();
  if (!blobs.ok()) return blobs.status();
  absl::StatusOr<CopiedArtifacts> copied = BlobCopy(from, to, tell).Run(*blobs);
  if (!copied.ok()) return copied;
  // A server that wrote to it meanwhile may have stored more.
  if (absl::Status still = own->StillOwn(); !still.ok()) return still;
  return copied;
}

std::string Text(const CopiedArtifacts& copied, const BlobPlace& to) {
  std::string text = fmt::format(
      "{} blobs ({:.2f} GiB) are in {}; {} of them were copied now. Each was read again and compared.",
      copied.blobs, static_cast<double>(copied.bytes) / (1 << 30), to.name(), copied.copied);
  if (copied.findings > 0) text += fmt::format(" {} are missing or damaged.", copied.findings);
  return text;
}

}  // namespace winnow
