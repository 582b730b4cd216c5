#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <limits>

#include "server/reads/paging.h"
#include "server/reads/reads.h"

namespace winnow {

using google::protobuf::util::TimeUtil;

absl::StatusOr<v1::ListAuditEntriesResponse> Reads::ListAuditEntries(
    const v1::ListAuditEntriesRequest& request) {
  constexpr int64_t kEntries = 100, kMostEntries = 1'000;
  constexpr int64_t kLastSecond = 253'402'300'799;  // of the year 9999
  const absl::StatusOr<int64_t> size = PageSize(request.page_size(), kEntries, kMostEntries);
  if (!size.ok()) return size.status();
  AuditFilter filter{request.person(), request.job_id(), request.method()};
  if (request.has_since()) {
    if (request.since().seconds() < 0 || request.since().seconds() > kLastSecond) {
      return absl::InvalidArgumentError(
          fmt::format("since: {} s after 1970 is out of range; expected a time from 1970 to 9999",
                      request.since().seconds()));
    }
    filter.since_us = TimeUtil::TimestampToMicroseconds(request.since());
  }
  const std::string kind = fmt::format("audit {} {} {} {} {} {}", filter.person.size(), filter.person,
                                       filter.job.size(), filter.job, filter.method, filter.since_us);
  const auto page = ReadPageToken(request.page_token(), kind, 1);
  if (!page.ok()) return page.status();
  const absl::StatusOr<int64_t> before = PageNumber(*page, 0, std::numeric_limits<int64_t>::max());
  if (!before.ok()) return before.status();
  const absl::StatusOr<std::vector<AuditRow>> rows = store_.audit.List(filter, *before, *size + 1);
  if (!rows.ok()) return rows.status();
  v1::ListAuditEntriesResponse response;
  for (const AuditRow& row : *rows) {
    if (response.entries_size() == *size) {
      response.set_next_page_token(
          MakePageToken(kind, {std::to_string(response.entries(response.entries_size() - 1).sequence())}));
      break;
    }
    v1::AuditEntry& entry = *response.add_entries();
    entry.set_sequence(row.sequence);
    *entry.mutable_time() = TimeUtil::MicrosecondsToTimestamp(row.time_us);
    entry.set_person(row.person);
    entry.set_token_id(row.token);
    entry.set_address(row.address);
    entry.set_method(row.method);
    entry.set_job_id(row.job);
    entry.set_trial(row.trial);
    entry.set_subject(row.subject);
    entry.set_detail(row.detail);
    entry.set_outcome(row.outcome);
  }
  return response;
}

}  // namespace winnow
