#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// An access key of somebody who may use the endpoint.
struct AccessKey {
  std::string id;
  std::string secret;
  std::string account;  // 12 digits: keys of one account see the same jobs, buckets and objects
  std::string name;     // of the person
  std::string token;    // of Winnow, on whose behalf jobs are created; "": none
  std::string project;  // to which its jobs belong; one for all keys of an account; "": the default project
};

// Creates the file with one random key if it is missing.
absl::Status CreateFirstKey(const std::filesystem::path& file);

// The access keys of a file, a JSON list of objects with access_key_id, secret_access_key, account, and
// perhaps name, token and project.
class AccessKeys {
 public:
  // `tokens_required`: every key then needs a token.
  // INVALID_ARGUMENT names the entry that is wrong and what was expected.
  static absl::StatusOr<AccessKeys> Open(const std::filesystem::path& file, bool tokens_required);

  // Null for an unknown key.
  const AccessKey* Find(std::string_view id) const;

 private:
  std::map<std::string, AccessKey, std::less<>> keys_;
};

}  // namespace winnow
