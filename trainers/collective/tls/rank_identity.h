#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

using SSL_CTX = struct ssl_ctx_st;
using SSL = struct ssl_st;

namespace winnow {

// With what a rank shows the others of its attempt who it is, and knows them: its certificate, its key, and
// the authority that has signed the certificates of all ranks of the attempt, and no others.
class RankIdentity {
 public:
  // The name in the certificate of each rank of the attempt.
  using NameOf = std::function<std::string(int rank)>;

  // Reads the three files of base/rank_name.h. The certificate must be that of `rank`. FailedPrecondition
  // names the file and the reason. A connection's key is replaced after `records_per_key`, long before the
  // limit of AES-GCM (RFC 8446, 5.5).
  static absl::StatusOr<std::shared_ptr<const RankIdentity>> Read(const std::filesystem::path& folder,
                                                                  int rank, NameOf name_of,
                                                                  uint64_t records_per_key = uint64_t{1}
                                                                                             << 22);

  SSL_CTX* context() const { return context_.get(); }
  // OK if the certificate of a connection's other end, which is valid, is that of the rank.
  absl::Status CheckPeer(const SSL* connection, int rank) const;
  uint64_t records_per_key() const { return records_per_key_; }

 private:
  RankIdentity(std::shared_ptr<SSL_CTX> context, NameOf name_of, uint64_t records_per_key)
      : context_(std::move(context)), name_of_(std::move(name_of)), records_per_key_(records_per_key) {}

  const std::shared_ptr<SSL_CTX> context_;
  const NameOf name_of_;
  const uint64_t records_per_key_;
};

}  // namespace winnow
