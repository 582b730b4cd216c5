#include "store/tables/deliveries.h"

#include <fmt/format.h>

#include "store/enum_text.h"

namespace winnow {
namespace {

constexpr const char* kDeliveryStates[] = {"waiting", "delivered", "given_up"};
constexpr EnumTexts<DeliveryState, 3> kDeliveryStateTexts("deliveries.state", kDeliveryStates);

constexpr char kDeliveryColumns[] =
    "number, webhook, job, event, replaceable, state, attempts, create_us, next_us, end_us, answer";

absl::StatusOr<std::vector<DeliveryRow>> ReadDeliveries(Statement& s) {
  std::vector<DeliveryRow> rows;
  const absl::Status status = s.ForEach([&] {
    DeliveryRow& row = rows.emplace_back();
    row.number = s.Int(0);
    row.webhook = s.Text(1);
    row.job = s.Text(2);
    row.event = s.Text(3);
    row.replaceable = s.Int(4) != 0;
    row.attempts = s.Int(6);
    row.create_us = s.Int(7);
    row.next_us = s.Int(8);
    row.end_us = s.Int(9);
    row.answer = s.Text(10);
    return kDeliveryStateTexts.Read(s.Text(5), row.state);
  });
  if (!status.ok()) return status;
  return rows;
}

}  // namespace

DeliveryTable::DeliveryTable(Database& database)
    : database_(database),
      insert_(
          database,
          "INSERT INTO deliveries (webhook, job, event, replaceable, state, attempts, create_us, next_us, "
          "end_us, answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"),
      replace_(database,
               "DELETE FROM deliveries WHERE webhook = ?1 AND job = ?2 AND state = 'waiting'"
               " AND attempts = 0 AND replaceable = 1"),
      update_(database,
              "UPDATE deliveries SET state = ?2, attempts = ?3, next_us = ?4, end_us = ?5, answer = ?6"
              " WHERE number = ?1"),
      waiting_(database, fmt::format("SELECT {} FROM deliveries WHERE webhook = ?1 AND state = 'waiting'"
                                     " ORDER BY number LIMIT ?2",
                                     kDeliveryColumns)),
      backlog_(database,
               "SELECT COUNT(*), COALESCE(MIN(create_us), 0) FROM deliveries"
               " WHERE webhook = ?1 AND state = 'waiting'"),
      awaited_(database, "SELECT DISTINCT webhook FROM deliveries WHERE state = 'waiting' ORDER BY webhook"),
      make_due_(database, "UPDATE deliveries SET next_us = ?1 WHERE state = 'waiting' AND next_us > ?1"),
      give_up_(database,
               "UPDATE deliveries SET state = 'given_up', end_us = ?2, answer = ?3"
               " WHERE webhook = ?1 AND state = 'waiting'"),
      remove_(database,
              "DELETE FROM deliveries WHERE number IN (SELECT number FROM deliveries"
              " WHERE end_us > 0 AND end_us < ?1 ORDER BY end_us LIMIT ?2)") {}

absl::Status DeliveryTable::Insert(DeliveryRow& row) {
  if (row.replaceable) {
    const absl::Status replaced = replace_.Bind(row.webhook, row.job).Run();
    if (!replaced.ok()) return replaced;
  }
  const absl::Status status =
      insert_
          .Bind(row.webhook, row.job, row.event, row.replaceable, kDeliveryStateTexts.Text(row.state),
                row.attempts, row.create_us, row.next_us, row.end_us, row.answer)
          .Run();
  if (!status.ok()) return status;
  const absl::StatusOr<int64_t> number = database_.LastInsertKey();
  if (number.ok()) row.number = *number;
  return number.status();
}

absl::Status DeliveryTable::Update(const DeliveryRow& row) {
  return update_
      .Bind(row.number, kDeliveryStateTexts.Text(row.state), row.attempts, row.next_us, row.end_us,
            row.answer)
      .Run();
}

absl::StatusOr<std::vector<DeliveryRow>> DeliveryTable::Waiting(const std::string& webhook, int64_t limit) {
  return ReadDeliveries(waiting_.Bind(webhook, limit));
}

absl::StatusOr<DeliveryTable::Backlog> DeliveryTable::BacklogOf(const std::string& webhook) {
  Backlog backlog;
  const absl::Status status = backlog_.Bind(webhook).ForEach([&] {
    backlog = {backlog_.Int(0), backlog_.Int(1)};
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return backlog;
}

absl::StatusOr<std::vector<std::string>> DeliveryTable::Awaited() {
  std::vector<std::string> names;
  const absl::Status status = awaited_.Bind().ForEach([&] {
    names.push_back(awaited_.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return names;
}

absl::StatusOr<std::vector<DeliveryRow>> DeliveryTable::List(const DeliveryFilter& filter, int64_t before,
                                                             int64_t limit) {
  std::string where = "number < ?1";
  std::vector<ColumnValue> values = {before, limit};
  const auto require = [&](const char* column, std::string value) {
    values.emplace_back(std::move(value));
    where += fmt::format(" AND {} = ?{}", column, values.size());
  };
  if (!filter.webhook.empty()) require("webhook", filter.webhook);
  if (!filter.job.empty()) require("job", filter.job);
  if (filter.state) require("state", kDeliveryStateTexts.Text(*filter.state));
  Statement list(database_, fmt::format("SELECT {} FROM deliveries WHERE {} ORDER BY number DESC LIMIT ?2",
                                        kDeliveryColumns, where));
  return ReadDeliveries(list.BindAll(values));
}

absl::Status DeliveryTable::MakeDue(int64_t now_us) { return make_due_.Bind(now_us).Run(); }

absl::Status DeliveryTable::GiveUp(const std::string& webhook, int64_t now_us, const std::string& why) {
  return give_up_.Bind(webhook, now_us, why).Run();
}

absl::Status DeliveryTable::RemoveEndedBefore(int64_t time_us, int64_t limit) {
  return remove_.Bind(time_us, limit).Run();
}

}  // namespace winnow
