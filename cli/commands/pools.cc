#include "cli/commands/pools.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/session/interrupt.h"

namespace winnow::cli {
namespace {

constexpr int kLookAtPoolMs = 300;
constexpr int kTriesEnough = 3;     // allocations without a worker, after which the pool pauses
constexpr double kPausesAfter = 3;  // seconds in which a pool says so; it has looked at the new job by then
constexpr double kSecondsOfHour = 3600;

std::string NodesText(const v1::Pool& pool) {
  return fmt::format("{} of {}", pool.queued_nodes() + pool.running_nodes(), pool.max_nodes());
}

std::string AllocationTime(const v1::Allocation& allocation) {
  if (allocation.has_end_time()) return TimeText(allocation.end_time());
  return TimeText(allocation.has_start_time() ? allocation.start_time() : allocation.create_time());
}

Table::Cell AllocationState(const v1::Allocation& allocation) {
  const std::string text = v1::Allocation::State_IsValid(allocation.state())
                               ? v1::Allocation::State_Name(allocation.state())
                               : "UNKNOWN";
  if (allocation.state() == v1::Allocation::RUNNING) return {text, Style::kGood};
  if (allocation.state() != v1::Allocation::ENDED) return {text};
  return {text, allocation.workers() == 0 ? Style::kBad : Style::kDim};
}

std::string HostsText(const v1::Allocation& allocation) {
  std::string text;
  for (const std::string& host : allocation.hosts()) text += (text.empty() ? "" : ",") + host;
  return text;
}

// A job of one trial that prints a number and ends. It ends by itself if nobody waits for it any more.
v1::CreateTuningJobRequest TrivialJob(const DoctorOptions& options) {
  const std::string& pool = options.pool;
  v1::CreateTuningJobRequest request;
  v1::TuningJobSpec& spec = *request.mutable_spec();
  spec.set_name("doctor-" + pool);
  for (const char* word : {"sh", "-c", "echo objective=1", "{{unused}}"})
    spec.mutable_trainer()->add_command(word);
  v1::MetricDefinition& metric = *spec.mutable_trainer()->add_metrics();
  metric.set_name("objective");
  metric.set_regex("objective=([0-9]+)");
  v1::ParameterSpec& parameter = *spec.add_parameters();
  parameter.set_name("unused");
  parameter.mutable_integer()->set_min(1);
  parameter.mutable_integer()->set_max(1);
  spec.mutable_objective()->set_metric("objective");
  spec.mutable_objective()->set_goal(v1::MAXIMIZE);
  spec.set_strategy(v1::RANDOM);
  spec.mutable_limits()->set_max_trials(1);
  spec.mutable_limits()->mutable_max_wall_time()->set_seconds(
      static_cast<int64_t>(std::ceil(options.patience + kPausesAfter)));
  spec.set_working_directory("/");
  (*spec.mutable_cluster()->mutable_labels())["pool"] = pool;
  spec.set_note("A check of the pool by winnow doctor.");
  return request;
}

const v1::Pool* FindPool(const v1::ListPoolsResponse& list, const std::string& name) {
  for (const v1::Pool& pool : list.pools()) {
    if (pool.name() == name) return &pool;
  }
  return nullptr;
}

std::string WithoutDigits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

// Prints steps, each once.
class Steps {
 public:
  explicit Steps(Session& session) : session_(session) {}
  void Say(const std::string& step) { SayUnless(step, step); }
  // Says it once, whatever numbers it has: the seconds that are left of a pause are others each time.
  void SayOfPool(const std::string& step) { SayUnless(WithoutDigits(step), step); }
  double Elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  void SayUnless(const std::string& said, const std::string& step) {
    if (said_.insert(said).second)
      session_.out.Print(fmt::format("{:>8}  {}\n", DurationText(Elapsed()), Clean(step)));
  }

  Session& session_;
  std::set<std::string> said_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Whether nothing is asked of the engine for a while, and nothing is left of what was.
bool Pauses(const v1::Pool& pool) {
  return pool.has_paused_until() && pool.workers() == 0 &&
         std::all_of(pool.allocations().begin(), pool.allocations().end(),
                     [](const auto& allocation) { return allocation.state() == v1::Allocation::ENDED; });
}

// What to do when the trial has not run; `last` is the newest allocation since.
std::string Advice(const v1::Allocation& last, const std::string& pool, const std::string& job) {
  const std::string render = fmt::format("what would be submitted: winnow pools render {}", pool);
  if (last.name().empty()) return "Nothing was submitted: winnow pools says why.";
  if (last.workers() > 0) {
    return fmt::format(
        "A worker came, but the trial has not ended: see winnow describe {}, and winnow workers", job);
  }
  if (last.state() == v1::Allocation::PLANNED) {
    return "The engine has not answered: see winnow pools, and the server's log.";
  }
  if (last.state() == v1::Allocation::QUEUED) {
    return "The engine has not started it. Ask the engine why, or name another partition, account or smaller "
           "nodes.";
  }
  if (last.reason().starts_with("refused: ")) {
    return fmt::format("The engine refuses what it is asked for: see its reason above, and {}", render);
  }
  return fmt::format(
      "No worker came. Its program must be on the nodes (worker.command), and the nodes must reach the "
      "server at worker.server; see the allocation's reason above, and {}",
      render);
}

void SaySteps(Steps& steps, const v1::Pool& pool, const std::set<std::string>& before) {
  for (const v1::Allocation& allocation : pool.allocations()) {
    if (before.contains(allocation.name())) continue;
    const std::string id = allocation.id().empty() ? "" : fmt::format(" as {}", allocation.id());
    const std::string name = allocation.name();
    if (allocation.state() != v1::Allocation::PLANNED) steps.Say(fmt::format("submitted {}{}", name, id));
    if (allocation.state() == v1::Allocation::QUEUED && !allocation.reason().empty())
      steps.Say(fmt::format("{} waits: {}", name, allocation.reason()));
    if (allocation.state() == v1::Allocation::RUNNING) {
      const std::string hosts = HostsText(allocation);  // "": the engine does not say
      steps.Say(fmt::format("{} runs{}", name, hosts.empty() ? "" : " on " + hosts));
    }
    if (allocation.workers() > 0) steps.Say(fmt::format("a worker of {} has joined", name));
    if (allocation.state() == v1::Allocation::ENDED)
      steps.Say(fmt::format("{} has ended: {}", name, allocation.reason()));
  }
}

}  // namespace

Exit ListPools(Session& session) {
  const auto list = session.client().Pools();
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list, list->pools())) return kSuccess;
  if (list->pools().empty()) {
    session.out.Print("This server has no pools. Declare them with: winnow-server --pools FILE\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table pools({{"POOL"},
               {"KIND"},
               {"NODES", Align::kRight},
               {"QUEUED", Align::kRight},
               {"RUNNING", Align::kRight},
               {"WORKERS", Align::kRight},
               {"NODE HOURS", Align::kRight, 2},
               {"COST", Align::kRight, 1}});
  Table allocations({{"ALLOCATION"},
                     {"ID"},
                     {"STATE"},
                     {"NODES", Align::kRight},
                     {"WORKERS", Align::kRight},
                     {"HOSTS", Align::kLeft, 2},
                     {"SINCE", Align::kLeft, 1},
                     {"REASON"}});
  std::string reasons;
  for (const v1::Pool& pool : list->pools()) {
    pools.Add({{pool.name(), Style::kBold},
               {pool.kind()},
               {NodesText(pool)},
               {std::to_string(pool.queued_nodes())},
               {std::to_string(pool.running_nodes())},
               {std::to_string(pool.workers())},
               {fmt::format("{:.3f}", pool.node_seconds() / kSecondsOfHour)},
               {fmt::format("{:.2f}", pool.cost())}});
    if (!pool.state_reason().empty())
      reasons += fmt::format("{}: {}\n", Clean(pool.name()), Clean(pool.state_reason()));
    for (const v1::Allocation& allocation : pool.allocations()) {
      allocations.Add({{allocation.name()},
                       {allocation.id()},
                       AllocationState(allocation),
                       {std::to_string(allocation.nodes())},
                       {std::to_string(allocation.workers())},
                       {HostsText(allocation)},
                       {AllocationTime(allocation)},
                       {allocation.reason()}});
    }
  }
  session.out.Print(pools.Text(session.out) + reasons);
  if (!allocations.empty())
    session.out.Print("\n" + allocations.Text(session.out, 0, session.Hint("pools -o json")));
  return kSuccess;
}

Exit RenderPool(Session& session, const RenderPoolOptions& options) {
  const auto rendered = session.client().RenderPool(options.pool, options.nodes);
  if (!rendered.ok()) return rendered.status();
  if (!PrintsJson(session, *rendered)) session.out.Print(rendered->text());
  return kSuccess;
}

Exit CheckPool(Session& session, const DoctorOptions& options) {
  auto list = session.client().Pools();
  if (!list.ok()) return list.status();
  const v1::Pool* pool = FindPool(*list, options.pool);
  if (pool == nullptr) {
    std::string known;
    for (const v1::Pool& other : list->pools()) known += (known.empty() ? "" : ", ") + other.name();
    return absl::NotFoundError(fmt::format("there is no pool \"{}\"; the server has {}", options.pool,
                                           known.empty() ? "none" : known));
  }
  std::set<std::string> before;
  for (const v1::Allocation& allocation : pool->allocations()) before.insert(allocation.name());
  const int32_t workers_before = pool->workers();
  const auto job = session.client().Create(TrivialJob(options));
  if (!job.ok()) return job.status();
  Steps steps(session);
  steps.Say(fmt::format("job {} is submitted: one trial that prints a number", job->id()));
  if (workers_before > 0) steps.Say(fmt::format("the pool has {} already", Count(workers_before, "worker")));
  const Interrupt interrupt;
  v1::Allocation last;
  int tries = 0;  // that brought no worker
  std::optional<double> paused_at;
  bool pauses = false;
  while (!pauses && steps.Elapsed() < options.patience && tries < kTriesEnough && !interrupt.raised()) {
    list = session.client().Pools();
    if (!list.ok()) return list.status();
    pool = FindPool(*list, options.pool);
    if (pool == nullptr) break;
    SaySteps(steps, *pool, before);
    last.Clear();
    tries = 0;
    for (const v1::Allocation& allocation : pool->allocations()) {
      if (before.contains(allocation.name())) continue;
      if (last.name().empty()) last = allocation;
      if (allocation.state() == v1::Allocation::ENDED && allocation.workers() == 0) ++tries;
    }
    const auto now = session.client().Describe(job->id());
    if (!now.ok()) return now.status();
    if (now->trial_counts().running() > 0) steps.Say("the trial runs");
    if (now->state() == v1::TuningJob::COMPLETED) {
      list = session.client().Pools();  // all may have happened since it was asked for
      pool = list.ok() ? FindPool(*list, options.pool) : nullptr;
      if (pool != nullptr) SaySteps(steps, *pool, before);
      steps.Say("the trial has ended as it should: the pool works");
      return kSuccess;
    }
    if (now->state() == v1::TuningJob::FAILED) {
      steps.Say(fmt::format("the trial failed: {}", now->state_reason()));
      return kFailure;
    }
    if (!pool->state_reason().empty()) steps.SayOfPool(pool->state_reason());
    if (!Pauses(*pool)) {
      paused_at.reset();
    } else if (!paused_at) {
      paused_at = steps.Elapsed();
    }
    pauses = paused_at && steps.Elapsed() - *paused_at >= kPausesAfter;
    pollfd fd{interrupt.fd(), POLLIN, 0};
    poll(&fd, 1, kLookAtPoolMs);
  }
  (void)session.client().Stop(job->id());
  steps.Say(fmt::format("given up after {}; the job is stopped. {}{}", DurationText(steps.Elapsed()),
                        Advice(last, options.pool, job->id()),
                        pauses ? " The pool pauses. When the cause is mended, start the server anew: it then "
                                 "tries one allocation at once."
                               : ""));
  return interrupt.raised() ? kInterrupted : kFailure;
}

}  // namespace winnow::cli
