#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

struct TokenRow {
  std::string id;    // 8 hexadecimal digits
  std::string name;  // of its owner
  std::string role;  // viewer, submitter, worker, admin
  std::string hash;  // SHA-256 of the secret: 32 bytes
  int64_t create_us = 0;
  int64_t expire_us = 0;  // 0: never
  int64_t revoke_us = 0;  // 0: not revoked
  // A worker's token: the projects whose jobs it may run ("": the default project); empty: all.
  std::vector<std::string> worker_projects = {};
  std::string worker_names = {};  // a pattern of the names of workers, as a shell's; "": any

  bool operator==(const TokenRow&) const = default;
};

class TokenTable {
 public:
  explicit TokenTable(Database& database);

  // ALREADY_EXISTS if the id is taken.
  absl::Status Insert(const TokenRow& row);
  // Keeps the time of an earlier revocation. NOT_FOUND names the id.
  absl::StatusOr<TokenRow> Revoke(const std::string& id, int64_t now_us);
  // In order of creation, revoked and expired ones too.
  absl::StatusOr<std::vector<TokenRow>> List();

 private:
  Statement insert_, revoke_, find_, list_;
};

}  // namespace winnow
