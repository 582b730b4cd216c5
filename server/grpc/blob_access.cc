#include "server/grpc/blob_access.h"

#include <fmt/format.h>

#include <optional>

#include "artifact/manifest.h"
#include "artifact/refusals.h"
#include "server/grpc/auth.h"

namespace winnow {
namespace {

constexpr size_t kMostSentBlobs = 100'000;

}  // namespace

void SentBlobs::Note(const Requester& by, const std::string& digest) {
  MutexLock lock(mutex_);
  Entry entry{by.token_id, digest};
  if (!entries_.insert(entry).second) return;
  order_.push_back(std::move(entry));
  if (order_.size() <= kMostSentBlobs) return;
  entries_.erase(order_.front());
  order_.pop_front();
}

bool SentBlobs::Has(const Requester& by, const std::string& digest) {
  MutexLock lock(mutex_);
  return entries_.contains({by.token_id, digest});
}

absl::StatusOr<std::set<std::string>> HiddenBlobs(Reads& reads, Authority& authority, const Requester& by,
                                                  const std::vector<std::string>& digests) {
  const std::optional<std::vector<std::string>> projects = authority.VisibleTo(by);
  if (!projects || digests.empty()) return std::set<std::string>();
  const absl::StatusOr<std::set<std::string>> readable = reads.ReadableBlobs(digests, *projects, by);
  if (!readable.ok()) return readable.status();
  std::set<std::string> hidden;
  for (const std::string& digest : digests) {
    if (!readable->contains(digest) && !authority.sent_blobs().Has(by, digest)) hidden.insert(digest);
  }
  return hidden;
}

absl::Status CheckBlobs(Reads& reads, Authority& authority, const Requester& by,
                        const v1::Manifest& manifest) {
  std::vector<std::string> digests;
  for (const v1::BlobName& blob : BlobsOf(manifest)) digests.push_back(blob.digest());
  const absl::StatusOr<std::set<std::string>> hidden = HiddenBlobs(reads, authority, by, digests);
  if (!hidden.ok()) return hidden.status();
  if (hidden->empty()) return absl::OkStatus();
  absl::Status missing = absl::FailedPreconditionError(fmt::format("blob {} is not there", *hidden->begin()));
  missing.SetPayload(kMissingBlob, absl::Cord(*hidden->begin()));
  return missing;
}

}  // namespace winnow
