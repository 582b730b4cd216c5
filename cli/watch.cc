#include "cli/watch.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cli/feed.h"
#include "cli/format.h"
#include "cli/interrupt.h"
#include "cli/jobs.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "cli/text.h"

namespace winnow::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kShownEvents = 4;
constexpr int kRedrawMs = 1000;

// Whether an event is worth a line: what changes the course of the job, not the daily business of its trials.
bool IsNotable(const v1::TuningJobEvent& event) {
  const std::string& kind = event.kind();
  if (kind == "attempt_ended") {
    return event.text().find("failed") != std::string::npos || event.text().find("lost") != std::string::npos;
  }
  return kind != "reported" && kind != "trial_created" && kind != "trial_started" &&
         kind != "attempt_started" && kind != "trial_paused" && kind != "trial_resumed";
}

// Whether a trial is stopped where its rung is cut. The server tells of these right after the cut.
bool IsStopAtCut(const v1::TuningJobEvent& event) {
  return event.kind() == "trial_ended" && event.text().find(" is stopped: Hyperband: ") != std::string::npos;
}

// What the user sees of one watch.
class View {
 public:
  View(Session& session, v1::TuningJob job)
      : session_(session), job_(std::move(job)), received_(Clock::now()) {
    best_ = job_.best().trial();
    if (live()) Draw();
  }

  bool live() const { return session_.output == Output::kText && session_.out.interactive(); }
  const v1::TuningJob& job() const { return job_; }

  void Show(const v1::TuningJobEvent& event) {
    const bool stop_at_cut = at_cut_ && IsStopAtCut(event);
    if (!stop_at_cut) TellStops();
    if (event.has_job()) {
      job_ = event.job();
      received_ = Clock::now();
      ended_since_ = 0;
    } else if (event.kind() == "trial_ended" && event.sequence() > job_.last_sequence()) {
      ++ended_since_;
    }
    if (session_.output == Output::kJson) {
      session_.out.Print(ToJson(event, true));
      return;
    }
    at_cut_ = stop_at_cut || event.kind() == "rung_cut";
    if (stop_at_cut) {
      ++stops_;
      last_stop_ = event;
      if (event.has_job()) TellStops();
    } else if (IsNotable(event)) {
      Tell(event);
    }
    if (live()) return;
    if (event.has_job() && job_.has_best() && job_.best().trial() != best_) {
      best_ = job_.best().trial();
      Line(ClockText(event.time()), "best so far: " + BestText(job_));
    }
  }

  // Tells of the trials that were stopped where a rung was cut, in one line.
  void TellStops() {
    if (stops_ == 0) return;
    if (stops_ > 1) last_stop_.set_text(fmt::format("{} are stopped there.", Count(stops_, "trial")));
    stops_ = 0;
    Tell(last_stop_);
  }

  void Draw() { session_.out.Redraw(WatchFrame(session_, job_, elapsed(), events_) + note_); }

  void ServerLost() {
    TellStops();
    const std::string text =
        "The server at " + session_.endpoint.address + " is away; the job's trials may go on. Waiting for it…";
    if (live()) {
      note_ = session_.out.Paint(Style::kBad, text) + "\n";
    } else {
      session_.err.Print("winnow: " + text + "\n");
    }
  }

  void ServerBack(const v1::TuningJob& now) {
    job_ = now;
    received_ = Clock::now();
    ended_since_ = 0;
    note_.clear();
    if (!live()) session_.err.Print("winnow: the server is back\n");
  }

 private:
  double elapsed() const {
    if (HasEnded(job_)) return job_.spend().elapsed_seconds();
    return job_.spend().elapsed_seconds() + std::chrono::duration<double>(Clock::now() - received_).count();
  }

  void Tell(const v1::TuningJobEvent& event) {
    events_.push_back(event);
    if (events_.size() > kShownEvents) events_.erase(events_.begin());
    if (!live()) Line(ClockText(event.time()), event.text());
  }

  void Line(const std::string& time, const std::string& text) {
    std::string done = Thousands(EndedTrials(job_.trial_counts()) + ended_since_);
    if (job_.planned_trials() > 0) done += "/" + Thousands(job_.planned_trials());
    const std::optional<double> part = Fraction(job_, elapsed());
    session_.out.Print(fmt::format("{}  {} trials done{}  {}\n", time, done,
                                   part ? fmt::format(", {}", PercentText(*part)) : "", Clean(text)));
  }

  Session& session_;
  v1::TuningJob job_;
  Clock::time_point received_;              // when job_ came
  std::vector<v1::TuningJobEvent> events_;  // the last notable ones
  std::string note_;                        // a line under the table
  int64_t best_ = 0;                        // the best trial that was told of
  int64_t ended_since_ = 0;                 // trials that ended after job_
  bool at_cut_ = false;                     // the newest event is a cut, or a stop there
  int64_t stops_ = 0;                       // stops at the cut that were not told of yet
  v1::TuningJobEvent last_stop_;            // the newest of them
};

Exit Finish(Session& session, const v1::TuningJob& last, bool live) {
  const auto job = session.client().Describe(last.id());
  if (!job.ok()) return job.status();
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*job, true));
  } else {
    const auto summary = SummaryText(session, *job);
    if (!summary.ok()) return summary.status();
    if (live) session.out.Redraw("");
    session.out.Print(*summary);
  }
  return job->state() == v1::TuningJob::FAILED ? kFailure : kSuccess;
}

}  // namespace

std::string WatchFrame(const Session& session, const v1::TuningJob& job, double elapsed,
                       const std::vector<v1::TuningJobEvent>& last_events) {
  const Terminal& out = session.out;
  std::string text =
      fmt::format("{}  {}  {}\n", out.Paint(Style::kBold, job.id()),
                  out.Paint(StateStyle(job.state()), StateText(job.state())), StrategyText(job.spec()));
  const std::optional<double> part = Fraction(job, elapsed);
  if (part) {
    const std::optional<double> left = SecondsLeft(job, elapsed);
    const std::string after = HasEnded(job) ? ""
                              : left        ? fmt::format("   about {} left", DurationText(*left))
                                            : "   time left not known yet";
    text += fmt::format("{} {:>5}{}\n",
                        out.Paint(Style::kGood, BarText(*part, std::clamp(out.width() - 45, 10, 50))),
                        PercentText(*part), after);
  }
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("  {}{}\n", out.Paint(Style::kDim, fmt::format("{:<9}", label)), value);
  };
  line("best", job.has_best() ? out.Paint(Style::kGood, BestText(job)) : BestText(job));
  line("trials",
       CountsText(job.trial_counts()) +
           (job.planned_trials() > 0 ? fmt::format("; {} planned", Thousands(job.planned_trials())) : ""));
  std::string spent = Count(job.spend().resource(), "unit");
  if (job.planned_resource() > 0) spent += fmt::format(" of {} planned", Thousands(job.planned_resource()));
  line("spent", fmt::format("{}, {} training, {} elapsed", spent,
                            DurationText(job.spend().training_seconds()), DurationText(elapsed)));
  const std::string brackets = BracketsText(session, job);
  if (!brackets.empty()) text += "\n" + brackets;
  if (!last_events.empty()) text += "\n";
  for (const auto& event : last_events) {
    text += fmt::format("  {}  {}\n", out.Paint(Style::kDim, ClockText(event.time())), Clean(event.text()));
  }
  return text;
}

Exit WatchFrom(Session& session, v1::TuningJob job, int64_t after_sequence, absl::Duration patience) {
  const bool live = session.output == Output::kText && session.out.interactive();
  if (HasEnded(job)) return Finish(session, job, false);
  const Interrupt interrupt;
  View view(session, job);
  Feed feed(&session.client(), job.id(), after_sequence, patience);
  while (session.out.write_error() == 0) {
    pollfd fds[] = {{feed.fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    poll(fds, 2, live ? kRedrawMs : -1);
    for (Feed::Item& item : feed.Take()) {
      switch (item.kind) {
        case Feed::Item::kEvent:
          view.Show(item.event);
          break;
        case Feed::Item::kLost:
          view.ServerLost();
          break;
        case Feed::Item::kBack:
          view.ServerBack(item.event.job());
          break;
        case Feed::Item::kEnd:
          view.TellStops();
          if (!item.status.ok()) return item.status;
          return Finish(session, view.job(), live);
      }
    }
    if (live) view.Draw();
    if (interrupt.raised()) {
      session.err.Print(fmt::format("\nThe job goes on. Watch it again with: {}\nStop it with: {}\n",
                                    session.Hint("watch " + job.id()), session.Hint("stop " + job.id())));
      return kInterrupted;
    }
  }
  return kFailure;
}

Exit Watch(Session& session, const WatchOptions& options) {
  const auto job = session.client().Describe(options.job);
  if (!job.ok()) return job.status();
  return WatchFrom(session, *job, job->last_sequence(), options.patience);
}

}  // namespace winnow::cli
