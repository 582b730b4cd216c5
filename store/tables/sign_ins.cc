#include "store/tables/sign_ins.h"

#include "absl/strings/ascii.h"

namespace winnow {

// Names are compared without regard to the case of ASCII's letters. Parameters are lowered here: lower() of
// one follows PostgreSQL's locale, and that of a column, which is of collation C, does not.
SignInTable::SignInTable(Database& database)
    : find_(database, "SELECT name, create_us FROM persons WHERE issuer = ?1 AND subject = ?2"),
      insert_(database, "INSERT INTO persons (issuer, subject, name, create_us) VALUES (?1, ?2, ?3, ?4)"),
      rename_(database, "UPDATE persons SET name = ?3 WHERE issuer = ?1 AND subject = ?2"),
      person_has_(database,
                  "SELECT COUNT(*) FROM persons WHERE lower(name) = ?1"
                  " AND NOT (issuer = ?2 AND subject = ?3)"),
      remove_person_(database,
                     "DELETE FROM persons WHERE lower(name) = ?1 AND NOT (issuer = ?2 AND subject = ?3)"),
      token_has_(database,
                 "SELECT COUNT(*) FROM tokens WHERE lower(name) = ?1"
                 " AND id NOT IN (SELECT token FROM sign_in_tokens)"),
      put_token_(database, "INSERT INTO sign_in_tokens (token) VALUES (?1)"),
      has_token_(database, "SELECT COUNT(*) FROM sign_in_tokens WHERE token = ?1"),
      valid_(database,
             "SELECT id FROM tokens WHERE lower(name) = ?1 AND id IN (SELECT token FROM sign_in_tokens)"
             " AND revoke_us = 0 AND expire_us > ?2 ORDER BY id"),
      remove_(database,
              "DELETE FROM tokens WHERE id IN (SELECT token FROM sign_in_tokens)"
              " AND (expire_us < ?1 OR (revoke_us > 0 AND revoke_us < ?1))") {}

namespace {

// Whether it counts any rows.
absl::StatusOr<bool> Any(Statement& statement) {
  bool any = false;
  const absl::Status status = statement.ForEach([&] {
    any = statement.Int(0) > 0;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return any;
}

}  // namespace

absl::StatusOr<std::optional<PersonRow>> SignInTable::Find(const std::string& issuer,
                                                           const std::string& subject) {
  std::optional<PersonRow> row;
  const absl::Status status = find_.Bind(issuer, subject).ForEach([&] {
    row = PersonRow{issuer, subject, find_.Text(0), find_.Int(1)};
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return row;
}

absl::Status SignInTable::Insert(const PersonRow& row) {
  return insert_.Bind(row.issuer, row.subject, row.name, row.create_us).Run();
}

absl::Status SignInTable::Rename(const PersonRow& row) {
  return rename_.Bind(row.issuer, row.subject, row.name).Run();
}

absl::StatusOr<bool> SignInTable::AnotherHas(const PersonRow& person) {
  return Any(person_has_.Bind(absl::AsciiStrToLower(person.name), person.issuer, person.subject));
}

absl::Status SignInTable::RemoveAnother(const PersonRow& person) {
  return remove_person_.Bind(absl::AsciiStrToLower(person.name), person.issuer, person.subject).Run();
}

absl::StatusOr<bool> SignInTable::TokenHas(const std::string& name) {
  return Any(token_has_.Bind(absl::AsciiStrToLower(name)));
}

absl::Status SignInTable::PutToken(const std::string& token) { return put_token_.Bind(token).Run(); }

absl::StatusOr<bool> SignInTable::HasToken(const std::string& token) { return Any(has_token_.Bind(token)); }

absl::StatusOr<std::vector<std::string>> SignInTable::ValidTokens(const std::string& name, int64_t now_us) {
  std::vector<std::string> ids;
  const absl::Status status = valid_.Bind(absl::AsciiStrToLower(name), now_us).ForEach([&] {
    ids.push_back(valid_.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return ids;
}

absl::Status SignInTable::RemoveTokensBefore(int64_t time_us) { return remove_.Bind(time_us).Run(); }

}  // namespace winnow
