#pragma once

#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/engine/answers/requester.h"
#include "server/reads/reads.h"

namespace winnow {

class Authority;

// The blobs that callers have sent since the server's start, the newest 100,000. Who has sent the bytes of a
// blob may name it in a manifest; who only knows its digest may not. Thread-safe.
class SentBlobs {
 public:
  void Note(const Requester& by, const std::string& digest);
  bool Has(const Requester& by, const std::string& digest);

 private:
  using Entry = std::pair<std::string, std::string>;  // token, digest
  Mutex mutex_;
  std::set<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::deque<Entry> order_ ABSL_GUARDED_BY(mutex_);
};

// Digests among these that do not exist for the caller, which sees only some projects' jobs: it has not sent
// them, and no artifact that it may read has them. Those that the server does not have may be among the
// others. On the reader's thread.
absl::StatusOr<std::set<std::string>> HiddenBlobs(Reads& reads, Authority& authority, const Requester& by,
                                                  const std::vector<std::string>& digests);

// FAILED_PRECONDITION with the payload kMissingBlob, as for a blob that is not there, if one is hidden from
// the caller. On the reader's thread.
absl::Status CheckBlobs(Reads& reads, Authority& authority, const Requester& by,
                        const v1::Manifest& manifest);

}  // namespace winnow
