#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "server/engine/answers/requester.h"
#include "server/engine/coordinator.h"

namespace winnow {

// What an entry of the audit log says beside who called, when and with what outcome; see
// winnow.v1.AuditEntry. Texts of a caller are cut.
struct AuditNote {
  std::string_view method;  // a literal
  std::string job = {};
  int64_t trial = 0;
  std::string subject = {};
  std::string detail = {};  // no secrets
};

inline const absl::Status& AuditStatus(const absl::Status& answer) { return answer; }
template <typename T>
const absl::Status& AuditStatus(const absl::StatusOr<T>& answer) {
  return answer.status();
}

// Adds an entry to the audit log. REQUIRES: on the coordinator's thread, in a batch.
void AddAuditEntry(Context& context, const Requester& by, const AuditNote& note, const absl::Status& outcome);

// As Coordinator::Call, with an entry of the audit log in the same transaction, whatever the outcome. `run`
// may add to the note what it finds out.
template <typename Answer>
void CallAudited(Coordinator& coordinator, Requester by, AuditNote note,
                 std::function<Answer(Engine&, AuditNote&)> run, std::function<void(Answer)> done) {
  coordinator.Call<Answer>(
      [by = std::move(by), note = std::move(note), run = std::move(run)](Engine& engine) mutable {
        Answer answer = run(engine, note);
        AddAuditEntry(engine.context(), by, note, AuditStatus(answer));
        return answer;
      },
      std::move(done));
}

// Records a call that ends with `outcome` without anything changed, then calls `done`. The call ends the same
// way if that cannot be recorded.
void RecordAudited(Coordinator& coordinator, Requester by, AuditNote note, absl::Status outcome,
                   std::function<void()> done);

// Records calls that were refused before they began, because of the caller's role or because they may not see
// the job: of each token and method one in a minute, so that nobody fills the log with calls that cost the
// server nothing. Thread-safe.
class RefusedCalls {
 public:
  // `coordinator` outlives it.
  explicit RefusedCalls(Coordinator& coordinator, Clock clock)
      : coordinator_(coordinator), clock_(std::move(clock)) {}
  void Note(const Requester& by, std::string_view method, const absl::Status& why);

 private:
  Coordinator& coordinator_;
  const Clock clock_;
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, int64_t> recorded_us_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
