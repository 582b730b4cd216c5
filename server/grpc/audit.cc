#include "server/grpc/audit.h"

#include "base/utf8.h"

namespace winnow {
namespace {

constexpr size_t kLongestText = 256;
constexpr int64_t kOneRefusalPerUs = 60'000'000;

// At most kLongestText bytes, valid UTF-8 without control characters.
std::string CutText(std::string_view text) {
  std::string kept;
  while (!text.empty() && kept.size() < kLongestText) {
    const size_t length = Utf8Length(text);
    if (length == 0 || (length == 1 && static_cast<unsigned char>(text[0]) < ' ')) {
      kept += '?';
      text.remove_prefix(1);
    } else {
      kept += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return kept;
}

}  // namespace

void AddAuditEntry(Context& context, const Requester& by, const AuditNote& note,
                   const absl::Status& outcome) {
  AuditRow row;
  row.time_us = context.wall_us();
  row.person = CutText(by.name);
  row.token = by.token_id;
  row.address = CutText(by.address);
  row.method = note.method;
  row.job = CutText(note.job);
  row.trial = note.trial;
  row.subject = CutText(note.subject);
  row.detail = CutText(note.detail);
  row.outcome = absl::StatusCodeToString(outcome.code());
  context.Note(context.store.audit.Add(row));
}

void RecordAudited(Coordinator& coordinator, Requester by, AuditNote note, absl::Status outcome,
                   std::function<void()> done) {
  CallAudited<absl::Status>(
      coordinator, std::move(by), std::move(note),
      [outcome = std::move(outcome)](Engine&, AuditNote&) { return outcome; },
      [done = std::move(done)](const absl::Status&) {
        if (done) done();
      });
}

void RefusedCalls::Note(const Requester& by, std::string_view method, const absl::Status& why) {
  const int64_t now_us = clock_.steady_us();
  const std::string who = by.token_id.empty() ? by.address : by.token_id;
  {
    MutexLock lock(mutex_);
    std::erase_if(recorded_us_, [&](const auto& entry) { return entry.second + kOneRefusalPerUs <= now_us; });
    if (!recorded_us_.emplace(std::pair(who, std::string(method)), now_us).second) return;
  }
  // The method's name in the rule is a literal; the one given here may not live as long.
  coordinator_.Call<absl::Status>(
      [by, method = std::string(method), why](Engine& engine) {
        AddAuditEntry(engine.context(), by, {method}, why);
        return absl::OkStatus();
      },
      [](const absl::Status&) {});
}

}  // namespace winnow
