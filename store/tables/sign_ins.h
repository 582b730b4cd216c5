#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

// Somebody who signed in with an OpenID Connect provider.
struct PersonRow {
  std::string issuer;
  std::string subject;  // the provider's own name for them
  std::string name;     // of their tokens
  int64_t create_us = 0;

  bool operator==(const PersonRow&) const = default;
};

// Who signed in, and which tokens were made by that.
class SignInTable {
 public:
  explicit SignInTable(Database& database);

  // Absent: nobody.
  absl::StatusOr<std::optional<PersonRow>> Find(const std::string& issuer, const std::string& subject);
  absl::Status Insert(const PersonRow& row);
  absl::Status Rename(const PersonRow& row);
  // Whether another person, or a token that no sign-in made, has that name. Small and capital letters (of
  // ASCII) are the same here.
  absl::StatusOr<bool> AnotherHas(const PersonRow& person);
  // Removes the other persons of that name.
  absl::Status RemoveAnother(const PersonRow& person);
  absl::StatusOr<bool> TokenHas(const std::string& name);

  // REQUIRES: the token is in its table.
  absl::Status PutToken(const std::string& token);
  // Whether a sign-in made the token.
  absl::StatusOr<bool> HasToken(const std::string& token);
  // The tokens of sign-ins under that name, in small or capital letters, that are valid then.
  absl::StatusOr<std::vector<std::string>> ValidTokens(const std::string& name, int64_t now_us);
  // Removes tokens of sign-ins that expired or were revoked before that time.
  absl::Status RemoveTokensBefore(int64_t time_us);

 private:
  Statement find_, insert_, rename_, person_has_, remove_person_, token_has_, put_token_, has_token_, valid_,
      remove_;
};

}  // namespace winnow
