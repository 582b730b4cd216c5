#include "server/reads/replays.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "scheduler/replay.h"
#include "server/engine/answers/job_view.h"

namespace winnow {
namespace {

// More than these and the one that runs are refused.
constexpr size_t kMostReplaysWaiting = 16;

std::string HandedOutText(const v1::BestTrial& best) {
  return fmt::format("hands out trial {}, expected {} ± {}", best.trial(), best.expected(),
                     best.expected_error());
}

// Chooses again what an ended job hands out.
void CheckChoice(const Record& record, v1::ReplayTuningJobResponse& response) {
  if (!record.chosen || response.mismatch() != 0) return;
  JobState state(record.spec);
  for (const Fact& fact : record.facts) state.Apply(fact);
  const std::optional<v1::BestTrial> again = HandedOut(state, record.job);
  const std::string recorded = HandedOutText(*record.chosen);
  const std::string expected = again ? HandedOutText(*again) : "hands out nothing";
  if (recorded == expected) return;
  response.set_mismatch(state.last_sequence());
  response.set_recorded(recorded);
  response.set_expected(expected);
}

v1::ReplayTuningJobResponse Decided(const Record& record) {
  const std::vector<Fact>& facts = record.facts;
  v1::ReplayTuningJobResponse response;
  response.set_facts(static_cast<int64_t>(facts.size()));
  response.set_decisions(
      std::count_if(facts.begin(), facts.end(), [](const Fact& fact) { return !IsObserved(fact.body); }));
  const Mismatch mismatch = Verify(record.spec, facts, Wording::kIgnored);
  response.set_mismatch(mismatch.sequence);
  response.set_recorded(mismatch.recorded);
  response.set_expected(mismatch.expected);
  CheckChoice(record, response);
  return response;
}

}  // namespace

absl::StatusOr<Record> Replays::RecordOf(const std::string& id) {
  const auto read = std::make_shared<std::promise<absl::StatusOr<Record>>>();
  reader_.Post([read, id](Reads& reads) { read->set_value(reads.GetRecord(id)); });
  return read->get_future().get();
}

void Replays::Replay(const std::string& id, std::function<bool()> gone, Done done) {
  if (thread_.stopping()) return done(absl::UnavailableError("the server is stopping"));
  const bool posted = thread_.PostWithin(kMostReplaysWaiting, [this, id, gone = std::move(gone), done] {
    if (gone()) return done(absl::CancelledError("nobody waits for the answer any more"));
    if (thread_.stopping()) return done(absl::UnavailableError("the server is stopping"));
    const absl::StatusOr<Record> record = RecordOf(id);
    if (!record.ok()) return done(record.status());
    if (thread_.stopping()) return done(absl::UnavailableError("the server is stopping"));
    done(Decided(*record));
  });
  if (!posted) {
    done(absl::ResourceExhaustedError(
        fmt::format("{} replays are already waiting, the maximum; try again later", kMostReplaysWaiting)));
  }
}

}  // namespace winnow
