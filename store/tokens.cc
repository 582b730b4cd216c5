#include "store/tokens.h"

#include <fmt/format.h>

#include "store/text_list.h"

namespace winnow {
namespace {

TokenRow ReadToken(const Statement& s) {
  return {s.Text(0), s.Text(1), s.Text(2), s.Text(3), s.Int(4), s.Int(5), s.Int(6), TextsFromJson(s.Text(7)),
          s.Text(8)};
}

}  // namespace

TokenTable::TokenTable(Database& database)
    : insert_(database,
              "INSERT INTO tokens (id, name, role, hash, create_us, expire_us, revoke_us, worker_projects,"
              " worker_names) VALUES (?1, ?2, ?3, CAST(?4 AS BLOB), ?5, ?6, ?7, ?8, ?9)"),
      revoke_(database, "UPDATE tokens SET revoke_us = ?2 WHERE id = ?1 AND revoke_us = 0"),
      find_(database,
            "SELECT id, name, role, hash, create_us, expire_us, revoke_us, worker_projects, worker_names"
            " FROM tokens WHERE id = ?1"),
      list_(database,
            "SELECT id, name, role, hash, create_us, expire_us, revoke_us, worker_projects, worker_names"
            " FROM tokens ORDER BY create_us, id") {}

absl::Status TokenTable::Insert(const TokenRow& row) {
  return insert_
      .Bind(row.id, row.name, row.role, row.hash, row.create_us, row.expire_us, row.revoke_us,
            JsonOfTexts(row.worker_projects), row.worker_names)
      .Run();
}

absl::StatusOr<TokenRow> TokenTable::Revoke(const std::string& id, int64_t now_us) {
  absl::Status status = revoke_.Bind(id, now_us).Run();
  if (!status.ok()) return status;
  absl::StatusOr<bool> there = find_.Bind(id).Next();
  if (!there.ok()) return there.status();
  if (!*there) return absl::NotFoundError(fmt::format("there is no token \"{}\"", id));
  TokenRow row = ReadToken(find_);
  find_.Reset();
  return row;
}

absl::StatusOr<std::vector<TokenRow>> TokenTable::List() {
  std::vector<TokenRow> rows;
  absl::Status status = list_.Bind().ForEach([&] {
    rows.push_back(ReadToken(list_));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

}  // namespace winnow
