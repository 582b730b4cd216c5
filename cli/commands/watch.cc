#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status_text.h"
#include "cli/commands/actions.h"
#include "cli/commands/event_command.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "cli/session/feed.h"
#include "cli/session/interrupt.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {
namespace {

constexpr size_t kMostReasons = 3;  // of failures

// Returns "num_round 150   eta 0.11   booster gbtree", wrapped at `width` columns.
std::string ConfigurationText(const v1::Trial& trial, int width) {
  std::string text;
  size_t used = 0;
  for (const auto& parameter : trial.hyperparameters()) {
    if (parameter.value_case() == v1::HyperparameterValue::VALUE_NOT_SET)
      continue;  // the hyperparameter is inactive in this trial
    const std::string item = fmt::format("{} {}", Clean(parameter.name()), ValueText(parameter));
    const size_t columns = DisplayWidth(item);
    if (text.empty()) {
      used = columns;
    } else if (used + 3 + columns > static_cast<size_t>(width)) {
      text += "\n";
      used = columns;
    } else {
      text += "   ";
      used += 3 + columns;
    }
    text += item;
  }
  return text;
}

std::string NoBestText(const v1::TuningJob& job, bool reported, const std::optional<v1::Trial>& nearest) {
  const std::string metric = Clean(FirstMetric(job.spec()));
  if (AllFailed(job.trial_counts())) return "none: every trial failed";
  if (!reported) return "none: no trial reported " + metric;
  if (nearest) return "none: no trial satisfies metric_constraints" + NearestText(job.spec(), nearest);
  return fmt::format("none: every trial that reported {} failed", metric);
}

// Returns the summary of an ended job: its best configuration, the training done and saved, and commands for
// more details. Asks the server for the best trial; errors are the server's.
absl::StatusOr<std::string> SummaryText(Session& session, const v1::TuningJob& job) {
  const Terminal& out = session.out;
  const v1::JobSpend& spend = job.spend();
  std::string text = fmt::format("{} {}{}\n", out.Paint(Style::kBold, job.id()),
                                 out.Paint(StateStyle(job.state()), StateText(job.state())),
                                 job.state_reason().empty() ? "" : ": " + Clean(job.state_reason()));
  const auto line = [&](std::string_view label, const std::string& value) {
    text += out.Labelled(label, 9, value);
  };
  const auto lines = [&](std::string_view label, const std::vector<std::string>& values) {
    for (size_t i = 0; i < values.size(); ++i) line(i == 0 ? label : "", values[i]);
  };
  if (job.has_best()) {
    const auto best = session.client().DescribeTrial(job.id(), job.best().trial());
    if (!best.ok()) return best.status();
    line("best",
         fmt::format("{} {} (trial {}, {})", Clean(job.spec().objective().metric()),
                     out.Paint(Style::kGood, BestValueText(job)), job.best().trial(), BestLevelText(job)));
    if (const std::string expected = ExpectedText(job); !expected.empty()) line("", expected);
    if (const std::string unknown = UnreportedText(job); !unknown.empty()) line("", unknown);
    line("", ConfigurationText(best->trial(), out.width() - 11));
  } else if (job.front_trials() > 0) {
    line("best", BestText(job));
  } else {
    v1::QueryMetricsRequest request;
    request.set_job_id(job.id());
    request.add_metrics(FirstMetric(job.spec()));
    v1::QueryMetricsResponse reported;
    const absl::Status status = session.client().Metrics(request, 1, AddTo(reported));
    if (!status.ok()) return status;
    std::optional<v1::Trial> nearest;
    if (job.spec().metric_constraints_size() > 0) {
      auto found = session.client().NearestTrial(job.id());
      if (!found.ok()) return found.status();
      nearest = *std::move(found);
    }
    line("best", NoBestText(job, !reported.points().empty(), nearest));
  }
  line("trials",
       fmt::format("{}: {}", Thousands(AllTrials(job.trial_counts())), CountsText(job.trial_counts())));
  lines("failures", FailureTexts(job, kMostReasons));
  line("trained", ResourceText(job));
  line("time", TimeText(job, spend.elapsed_seconds()));
  if (const std::string parts = PartsText(job); !parts.empty()) line("parts", parts);
  lines("notices", NoticeTexts(job));
  line("look at", session.Hint(fmt::format("trials {} --sort objective", job.id())));
  if (job.has_best()) line("", session.Hint(fmt::format("describe {} {}", job.id(), job.best().trial())));
  if (job.front_trials() > 0) line("", session.Hint(fmt::format("best {} --front", job.id())));
  line("", session.Hint(fmt::format("analytics {} --output csv", job.id())));
  return text;
}

using Clock = std::chrono::steady_clock;

constexpr size_t kShownEvents = 4;
constexpr int kRedrawMs = 1000;
// Without any event for so long, the watch asks what the job waits for.
constexpr int kQuietMs = 3000;
constexpr size_t kMostReason = 80;  // columns
constexpr char kJobEnded[] = "job_ended";

// Routine events of trials that continue.
bool IsDailyBusiness(const v1::TuningJobEvent& event) {
  const std::string& kind = event.kind();
  return kind == "reported" || kind == "trial_created" || kind == "trial_started" ||
         kind == "attempt_started" || kind == "trial_paused" || kind == "trial_resumed";
}

// Whether an attempt ended otherwise than planned.
bool IsSetback(const v1::TuningJobEvent& event, bool with_failures) {
  return event.text().find(" lost attempt ") != std::string::npos ||
         (with_failures && event.text().find(" failed in attempt ") != std::string::npos);
}

// Returns "trial 7 PRUNED  auc 0.745 at 2 units".
std::string EndText(const v1::TuningJob& job, const v1::Trial& trial) {
  std::string text = fmt::format("trial {} {}", trial.number(), StateText(trial.state()));
  const bool has_value = trial.has_value() || trial.has_best_objective();
  if (has_value) {
    text += fmt::format("  {} {} at {}", Clean(FirstMetric(job.spec())),
                        NumberText(trial.has_value() ? trial.value() : trial.best_objective()),
                        Count(trial.has_value() ? trial.value_resource() : trial.best_resource(), "unit"));
  }
  if (trial.violation() > 0 && trial.state() != v1::Trial::FAILED)
    text += ", violates " + Fit(ViolationsText(job.spec(), trial), kMostReason);
  if (trial.state() == v1::Trial::FAILED && !trial.state_reason().empty()) {
    text += ": " + Fit(Clean(trial.state_reason()), kMostReason);
  }
  return text;
}

// The display of one watch.
class View {
 public:
  View(Session& session, v1::TuningJob job, bool verbose)
      : session_(session),
        verbose_(verbose),
        job_(std::move(job)),
        received_(Clock::now()),
        began_(job_.last_sequence()) {
    if (live()) Draw();
  }

  bool live() const { return session_.output == Output::kText && session_.out.interactive(); }
  const v1::TuningJob& job() const { return job_; }

  void Show(const v1::TuningJobEvent& event) {
    const bool trial_ended = event.kind() == "trial_ended";
    if (trial_ended && IsPast(event)) ++past_ended_;
    if (event.has_job()) {
      job_ = event.job();
      received_ = Clock::now();
      ended_since_ = 0;
    } else if (trial_ended && event.sequence() > job_.last_sequence()) {
      ++ended_since_;
    }
    if (session_.output == Output::kJson) {
      session_.out.Print(ToJson(event, true));
    } else if (verbose_ && !live()) {
      if (event.kind() == "attempt_ended" ? IsSetback(event, true) : !IsDailyBusiness(event))
        Tell(event, event.text());
    } else if (trial_ended) {
      Tell(event, EndOf(event));
    } else if (event.kind() == kJobEnded) {
      return;  // the summary says why
    } else if (event.kind() == "attempt_ended" ? IsSetback(event, false)
                                               : !IsDailyBusiness(event) && event.kind() != "suggested") {
      Tell(event, event.text());
    }
  }

  // Says what the job waits for, such as a worker; no event does.
  void TellWait() {
    if (session_.output == Output::kJson) return;
    const auto job = session_.client().Describe(job_.id());
    if (!job.ok() || HasEnded(*job)) return;
    std::string reason = job->state_reason();
    // The progress of a trial's preparation, such as a download, is printed once, not at each new number.
    if (reason.starts_with("Trial "))
      std::erase_if(reason, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (reason == waits_for_) return;
    waits_for_ = reason;
    if (reason.empty()) return;
    v1::TuningJobEvent event;
    *event.mutable_time() = google::protobuf::util::TimeUtil::GetCurrentTime();
    Tell(event, job->state_reason());
  }

  void Draw() { session_.out.Redraw(Frame() + note_); }

  void ServerLost() {
    const std::string text = "The server at " + session_.endpoint.address +
                             " is away; the job's trials may go on. Waiting for it…";
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
  // Whether it happened before the watch began.
  bool IsPast(const v1::TuningJobEvent& event) const {
    return event.sequence() > 0 && event.sequence() <= began_;
  }

  double elapsed() const {
    if (HasEnded(job_)) return job_.spend().elapsed_seconds();
    return job_.spend().elapsed_seconds() + std::chrono::duration<double>(Clock::now() - received_).count();
  }

  // Describes a trial's end briefly; the event's own text has no value.
  std::string EndOf(const v1::TuningJobEvent& event) {
    const auto answer = session_.client().DescribeTrial(job_.id(), event.trial());
    if (!answer.ok()) return event.text();
    // A trial that failed is not the best of those that ended, though its values had been.
    const bool best = job_.has_best() && job_.best().trial() == event.trial() &&
                      job_.best().unreported().empty() && answer->trial().state() != v1::Trial::FAILED;
    return EndText(job_, answer->trial()) + (best ? ", best so far" : "");
  }

  void Tell(const v1::TuningJobEvent& event, const std::string& text) {
    if (live()) {
      told_.push_back(
          fmt::format("  {}  {}\n", session_.out.Paint(Style::kDim, ClockText(event.time())), Clean(text)));
      if (told_.size() > kShownEvents) told_.erase(told_.begin());
      return;
    }
    const bool past = IsPast(event);
    std::string done = Thousands(past ? past_ended_ : EndedTrials(job_.trial_counts()) + ended_since_);
    if (job_.planned_trials() > 0) done += "/" + Thousands(job_.planned_trials());
    const std::optional<double> part = past ? std::nullopt : Fraction(job_, elapsed());
    session_.out.Print(fmt::format("{}  {} trials done{}  {}\n", ClockText(event.time()), done,
                                   part ? fmt::format(", {}", PercentText(*part)) : "", Clean(text)));
  }

  // Returns the table: the current state of the job and the newest messages.
  std::string Frame() const {
    const Terminal& out = session_.out;
    std::string text =
        fmt::format("{}  {}  {}\n", out.Paint(Style::kBold, job_.id()),
                    out.Paint(StateStyle(job_.state()), StateText(job_.state())), StrategyText(job_.spec()));
    const double seconds = elapsed();
    const std::optional<double> part = Fraction(job_, seconds);
    if (part) {
      const std::optional<double> left = SecondsLeft(job_, seconds);
      const std::string after = HasEnded(job_) ? ""
                                : left         ? fmt::format("   about {} left", DurationText(*left))
                                               : "   time left not known yet";
      text += fmt::format("{} {:>5}{}\n",
                          out.Paint(Style::kGood, BarText(*part, std::clamp(out.width() - 45, 10, 50))),
                          PercentText(*part), after);
    }
    const auto line = [&](std::string_view label, const std::string& value) {
      text += out.Labelled(label, 9, value);
    };
    line("best", job_.has_best() ? out.Paint(Style::kGood, BestText(job_)) : BestText(job_));
    line(
        "trials",
        CountsText(job_.trial_counts()) +
            (job_.planned_trials() > 0 ? fmt::format("; {} planned", Thousands(job_.planned_trials())) : ""));
    line("trained", ResourceText(job_));
    line("time", TimeText(job_, seconds));
    for (const std::string& notice : NoticeTexts(job_)) line("notice", notice);
    const std::string brackets = BracketsText(session_, job_);
    if (!brackets.empty()) text += "\n" + brackets;
    if (!told_.empty()) text += "\n";
    for (const std::string& told : told_) text += told;
    return text;
  }

  Session& session_;
  const bool verbose_;
  v1::TuningJob job_;
  Clock::time_point received_;     // arrival of job_
  std::vector<std::string> told_;  // the last lines under the table
  std::string note_;               // a line under them
  int64_t ended_since_ = 0;        // trials that ended after job_
  const int64_t began_;            // the newest event before the watch
  int64_t past_ended_ = 0;         // ends of trials up to then that were shown
  std::string waits_for_;          // what was said of it
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

absl::Status GaveUp(const Session& session, const std::string& job, absl::Duration away,
                    const absl::Status& last) {
  return absl::UnavailableError(fmt::format(
      "waited {} for the server, which is still away; the job may go on.\nWatch it again with: {}\n"
      "Wait longer with --patience SECONDS. The last try: {}",
      DurationText(absl::ToDoubleSeconds(away)), session.Hint("watch " + job), MessageOf(last)));
}

}  // namespace

Exit WatchFrom(Session& session, v1::TuningJob job, int64_t after_sequence, const WatchOptions& options) {
  const bool live = session.output == Output::kText && session.out.interactive();
  EventCommand command(session, options.exec, job);
  command.Look(job);
  if (HasEnded(job) && !options.from_start) return Finish(session, job, false);
  const Interrupt interrupt;
  View view(session, job, options.verbose);
  Feed feed(&session.client(), job.id(), after_sequence, options.patience);
  std::optional<absl::Time> lost;
  absl::Time heard = absl::Now();
  while (session.out.write_error() == 0) {
    pollfd fds[] = {{feed.fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
    poll(fds, 2, live ? kRedrawMs : kQuietMs);
    auto items = feed.Take();
    const bool quiet = items.empty() && absl::Now() - heard >= absl::Milliseconds(kQuietMs);
    if (quiet && !lost) view.TellWait();
    if (quiet || !items.empty()) heard = absl::Now();
    for (Feed::Item& item : items) {
      switch (item.kind) {
        case Feed::Item::kEvent:
          view.Show(item.event);
          command.Look(view.job(), &item.event);
          break;
        case Feed::Item::kLost:
          lost = absl::Now();
          view.ServerLost();
          break;
        case Feed::Item::kBack:
          lost.reset();
          view.ServerBack(item.event.job());
          command.Look(view.job());
          break;
        case Feed::Item::kEnd:
          if (lost && IsLoss(item.status)) return GaveUp(session, job.id(), absl::Now() - *lost, item.status);
          if (!item.status.ok()) return item.status;
          return Finish(session, view.job(), live);
      }
    }
    if (live) view.Draw();
    if (interrupt.raised()) {
      command.Abandon();
      session.err.Print(fmt::format("\nThe job goes on. Watch it again with: {}\nStop it with: {}\n",
                                    session.Hint("watch " + job.id()), session.Hint("stop " + job.id())));
      return kInterrupted;
    }
  }
  return kFailure;
}

Exit Watch(Session& session, const std::string& name, const WatchOptions& options) {
  const auto job = session.client().Describe(name);
  if (!job.ok()) return job.status();
  return WatchFrom(session, *job, options.from_start ? 0 : job->last_sequence(), options);
}

}  // namespace winnow::cli
