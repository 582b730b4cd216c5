#include "server/pools/pool_round.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/status_text.h"
#include "base/utf8.h"
#include "server/engine/worker_names.h"
#include "server/pools/pool_demand.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

// An engine may do what it was asked some time after the answer was lost: until then it is not concluded that
// it will not.
constexpr int64_t kDoubtUs = 10'000'000;
// What turns up later than that, or again, is ended at once, if it does within these times: one that the
// engine was not known to have, and one that had ended.
constexpr int64_t kTurnUpUs = 3'600'000'000;
constexpr int64_t kComeBackUs = 60'000'000;
constexpr int64_t kCancelAgainUs = 5'000'000;
constexpr int kMostAbsences = 2;
constexpr int64_t kFirstRefusalUs = 5'000'000;
constexpr int64_t kLongestRefusalUs = 60'000'000;
constexpr int64_t kTidyUs = 3'600'000'000;
constexpr int64_t kTokensListedUs = 30 * 86'400'000'000;  // after they were revoked
constexpr int64_t kEndedKept = 20;                        // of each pool: shown, and looked at for failures

// The names of the workers of an allocation that ever came. Where a name fits the allocations of two pools,
// the worker's label tells which pool's it is.
std::set<std::string> NamesThatCame(Engine& engine, const AllocationRow& row) {
  std::set<std::string> names;
  for (const char* separator : {".", "-"}) {
    for (const auto& [name, worker] : engine.workers().NamesFrom(row.name + separator)) {
      const auto label = worker->row.labels.find(kPoolLabel);
      if (label != worker->row.labels.end() && label->second != row.pool) continue;
      if (IsWorkerOf(row.name, name)) names.insert(name);
    }
  }
  return names;
}

std::string Sentence(std::string text) {
  if (!text.empty() && text.back() != '.' && text.back() != '!' && text.back() != '?') text += '.';
  return text;
}

v1::Allocation::State StateMessage(AllocationState state) {
  switch (state) {
    case AllocationState::kPlanned:
      return v1::Allocation::PLANNED;
    case AllocationState::kQueued:
      return v1::Allocation::QUEUED;
    case AllocationState::kRunning:
      return v1::Allocation::RUNNING;
    case AllocationState::kEnded:
      return v1::Allocation::ENDED;
  }
  return v1::Allocation::STATE_UNSPECIFIED;
}

void ToMessage(const AllocationRow& row, v1::Allocation& message) {
  message.set_name(row.name);
  message.set_id(row.engine_id);
  message.set_nodes(row.nodes);
  message.set_state(StateMessage(row.state));
  message.set_reason(ValidUtf8(!row.ended() && !row.cancel.empty() ? "to end: " + row.cancel : row.reason));
  for (const std::string& host : row.hosts) message.add_hosts(host);
  message.set_workers(row.workers);
  *message.mutable_create_time() = TimeUtil::MicrosecondsToTimestamp(row.create_us);
  if (row.start_us != 0) *message.mutable_start_time() = TimeUtil::MicrosecondsToTimestamp(row.start_us);
  if (row.end_us != 0) *message.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(row.end_us);
}

std::string WorkerName(const AllocationRow& row, int32_t node) {
  return fmt::format("{}.{}", row.name, node);
}

}  // namespace

void AddList(PoolNews list, std::vector<PoolNews>& news) {
  std::erase_if(news, [&](const PoolNews& old) { return old.listed && old.pool == list.pool; });
  news.push_back(std::move(list));
}

WorkerRoom DeclaredRoom(const PoolSettings& pool) {
  WorkerRoom room{"", pool.worker.slots, "", pool.worker.labels};
  room.labels[kPoolLabel] = pool.name;
  if (pool.worker.gpus > 0) room.labels["gpu"] = std::to_string(pool.worker.gpus);
  if (pool.worker.cpus > 0) room.free_cpus = pool.worker.cpus;
  if (pool.worker.memory_gib > 0) room.free_memory_gib = pool.worker.memory_gib;
  for (int32_t gpu = 0; gpu < pool.worker.gpus; ++gpu) room.gpus.push_back({std::to_string(gpu)});
  return room;
}

std::vector<WorkerRoom> DeclaredRooms(const std::vector<DeclaredPool>& pools) {
  std::vector<WorkerRoom> rooms;
  for (const DeclaredPool& pool : pools)
    rooms.insert(rooms.end(), static_cast<size_t>(pool.settings.max_nodes), DeclaredRoom(pool.settings));
  return rooms;
}

AllocationTable& PoolBook::TableOf(Engine& engine) {
  if (table_ == nullptr) table_ = std::make_unique<AllocationTable>(engine.context().store.database());
  return *table_;
}

std::set<std::string> PoolBook::NamesOf(Engine& engine, const AllocationRow& row) {
  std::set<std::string> names = NamesThatCame(engine, row);
  for (int32_t node = 0; node < row.nodes; ++node) names.insert(WorkerName(row, node));
  return names;
}

int32_t PoolBook::JoinedOf(Engine& engine, const AllocationRow& row) {
  // A pod that came in the place of another has a name of its own.
  return std::min(row.nodes, static_cast<int32_t>(NamesThatCame(engine, row).size()));
}

// Pods whose names could not be known may join an allocation that was cancelled meanwhile.
void PoolBook::DrainNewcomers(Engine& engine, const AllocationRow& row) {
  for (const std::string& name : NamesThatCame(engine, row)) {
    WorkerEntry* worker = engine.workers().FindPresentByName(name);
    if (worker == nullptr || engine.workers().marks().Find(name) != nullptr) continue;
    engine.workers().marks().Put({name, Marked::kDraining, row.cancel, 0});
    engine.recorder().Drain(*worker, row.cancel);
  }
}

void PoolBook::WatchWorkers(Engine& engine) {
  std::map<std::string, int64_t> idle;
  for (const WorkerEntry* worker : engine.workers().Present()) {
    if (!worker->held.empty()) continue;
    const auto before = idle_since_us_.find(worker->row.id);
    idle[worker->row.id] = before == idle_since_us_.end() ? engine.context().steady_us() : before->second;
  }
  idle_since_us_ = std::move(idle);
}

absl::Status PoolBook::Load(Engine& engine) {
  absl::StatusOr<std::vector<AllocationRow>> open = TableOf(engine).Open();
  if (!open.ok()) return open.status();
  open_ = *std::move(open);
  for (const AllocationRow& row : open_) departed_.erase(row.number);  // its end was not recorded
  ended_.clear();
  sums_.reset();
  for (const DeclaredPool& pool : pools_) {
    absl::StatusOr<std::vector<AllocationRow>> ended =
        TableOf(engine).NewestEnded(pool.settings.name, kEndedKept);
    if (!ended.ok()) return ended.status();
    for (AllocationRow& row : *ended) ended_[row.pool].emplace(row.number, std::move(row));
  }
  return absl::OkStatus();
}

absl::StatusOr<PoolOrders> PoolBook::Round(Engine& engine, const std::vector<PoolNews>& news, bool anew) {
  const Context& context = engine.context();
  PoolOrders orders;
  std::erase_if(open_, [](const AllocationRow& row) { return row.ended(); });
  if (anew || !begun_) {
    if (absl::Status status = Load(engine); !status.ok()) return status;
  }
  for (const auto& [pool, ended] : ended_) {
    if (begun_) break;
    for (const auto& [number, row] : ended) {
      orders.leftovers.push_back(row);
      if (context.wall_us() - row.end_us < kTurnUpUs)
        departed_[number] = {row, context.steady_us() + kComeBackUs};
    }
  }
  if (!begun_) begun_us_ = context.wall_us();
  begun_ = true;
  WatchWorkers(engine);
  if (tidied_us_ == 0 || context.steady_us() - tidied_us_ >= kTidyUs) {
    tidied_us_ = context.steady_us();
    absl::Status status = TableOf(engine).RemoveTokensBefore(context.wall_us() - kTokensListedUs);
    if (!status.ok()) return status;
  }
  for (AllocationRow& row : open_) {
    const int32_t joined = JoinedOf(engine, row);
    if (!row.cancel.empty()) DrainNewcomers(engine, row);
    if (joined <= row.workers) continue;
    row.workers = joined;
    Begin(engine, row);
    if (absl::Status status = TableOf(engine).Update(row); !status.ok()) return status;
  }
  for (const PoolNews& each : news) {
    if (absl::Status status = TakeNews(engine, each, orders); !status.ok()) return status;
  }
  const PoolsInput input = InputOf(engine);
  for (const PoolLimits& pool : input.pools) standings_[pool.name].paused_until_us = PoolPausedUntil(pool);
  const PoolsPlan plan = PlanPools(input, context.steady_us());
  absl::Status recorded = Record(engine, plan, orders);
  if (recorded.ok()) recorded = Tell(engine);
  if (!recorded.ok()) return recorded;
  return orders;
}

void PoolBook::Begin(Engine& engine, AllocationRow& row) const {
  row.state = AllocationState::kRunning;
  if (row.start_us == 0) row.start_us = engine.context().wall_us();
}

// That its engine is busy (RESOURCE_EXHAUSTED), or has it already, does not break a pool.
void PoolBook::TellBroken(Engine& engine, const PoolNews& news) {
  Standing& standing = standings_[news.pool];
  if (absl::IsResourceExhausted(news.status) || absl::IsAlreadyExists(news.status)) return;
  bool& broken = news.submitted.empty() ? standing.told_silent : standing.told_refuses;
  const bool was_broken = std::exchange(broken, !news.status.ok());
  if (was_broken || news.status.ok()) return;
  v1::Event event;
  event.set_kind(v1::Event::POOL_BROKEN);
  event.set_pool(news.pool);
  event.set_text(
      Sentence((news.submitted.empty() ? "Its engine could not be asked: " : "Its engine refused: ") +
               MessageOf(news.status)));
  engine.context().Tell(event);
}

absl::Status PoolBook::TakeNews(Engine& engine, const PoolNews& news, PoolOrders& orders) {
  Standing& standing = standings_[news.pool];
  if (news.cancelled) {
    standing.keeps = news.status.ok() ? "" : MessageOf(news.status);
    return absl::OkStatus();
  }
  standing.engine_error = absl::IsUnavailable(news.status) ? MessageOf(news.status) : "";
  TellBroken(engine, news);
  if (!news.submitted.empty()) return TakeSubmitted(engine, news, orders);
  return news.listed && news.status.ok() ? TakeListed(engine, news, orders) : absl::OkStatus();
}

absl::Status PoolBook::TakeSubmitted(Engine& engine, const PoolNews& news, PoolOrders& orders) {
  Standing& standing = standings_[news.pool];
  const absl::Status& said = news.status;
  if (absl::IsUnavailable(said) || absl::IsAlreadyExists(said)) {  // List will tell
    for (const int64_t number : news.submitted) watches_[number].seen_us = engine.context().steady_us();
    return absl::OkStatus();
  }
  if (absl::IsResourceExhausted(said)) {
    standing.pause_us = std::clamp(2 * standing.pause_us, kFirstRefusalUs, kLongestRefusalUs);
    standing.not_before_us = engine.context().steady_us() + standing.pause_us;
    standing.refusal = MessageOf(said);
  } else if (said.ok()) {
    standing.pause_us = standing.not_before_us = 0;
  }
  for (size_t i = 0; i < news.submitted.size(); ++i) {
    const auto row = std::find_if(open_.begin(), open_.end(), [&](const AllocationRow& other) {
      return other.number == news.submitted[i];
    });
    if (row == open_.end() || row->ended()) continue;
    absl::Status status;
    if (said.ok()) {
      if (row->state == AllocationState::kPlanned) row->state = AllocationState::kQueued;
      row->engine_id = news.ids[i];
      status = TableOf(engine).Update(*row);
    } else {
      const bool failed = !absl::IsResourceExhausted(said);
      status = End(engine, *row, Sentence("refused: " + MessageOf(said)), failed, orders);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void PoolBook::CancelDeparted(Engine& engine, const PoolNews& news, PoolOrders& orders) {
  const int64_t now_us = engine.context().steady_us();
  std::set<int64_t> gone;
  for (auto& [number, departed] : departed_) {
    if (!news.asked.contains(number)) continue;
    const std::string& name = departed.row.name;
    const auto found =
        std::find_if(news.allocations.begin(), news.allocations.end(), [&name](const Allocation& allocation) {
          return allocation.name == name && allocation.state != Allocation::State::kEnded;
        });
    if (found == news.allocations.end()) {
      if (now_us >= departed.until_us) gone.insert(number);
      continue;
    }
    departed.row.engine_id = found->id;
    departed.until_us = std::max(departed.until_us, now_us + kComeBackUs);
    if (departed.cancelled_us == 0 || now_us - departed.cancelled_us >= kCancelAgainUs) {
      departed.cancelled_us = now_us;
      orders.cancel.push_back(departed.row);
      orders.cancel.back().cancel = "it had ended, and its engine has it again";
    }
  }
  for (const int64_t number : gone) departed_.erase(number);
}

absl::Status PoolBook::TakeListed(Engine& engine, const PoolNews& news, PoolOrders& orders) {
  Context& context = engine.context();
  std::map<std::string, const Allocation*> known;
  for (const Allocation& allocation : news.allocations) known[allocation.name] = &allocation;
  CancelDeparted(engine, news, orders);
  for (AllocationRow& row : open_) {
    if (row.ended() || !news.asked.contains(row.number)) continue;
    Watch& watch = watches_[row.number];
    const auto found = known.find(row.name);
    absl::Status status;
    if (found == known.end()) {
      ++watch.absences;
      const bool unconfirmed = row.state == AllocationState::kPlanned;
      if (watch.absences < kMostAbsences) continue;
      if (unconfirmed && context.steady_us() - watch.seen_us < kDoubtUs) continue;
      const std::string why =
          !row.cancel.empty() ? row.cancel
          : unconfirmed       ? "The engine does not know it: the server stopped before it was submitted, "
                                "or the engine did not answer."
                              : "The engine does not know it any more: it has ended.";
      status = End(engine, row, why, !unconfirmed, orders);
      if (unconfirmed) departed_[row.number].until_us = context.steady_us() + kTurnUpUs;
    } else {
      const Allocation& now = *found->second;
      watch.absences = 0;
      if (now.state == Allocation::State::kEnded) {
        std::string why =
            row.cancel.empty() ? Sentence(now.reason.empty() ? "ended" : now.reason) : row.cancel;
        const auto words = news.last_words.find(row.name);
        if (row.workers == 0 && words != news.last_words.end() && !words->second.empty())
          why += " Its output ends with: " + words->second;
        row.engine_id = now.id;
        row.hosts = now.hosts;
        status = End(engine, row, why, true, orders);
      } else {
        const AllocationRow before = row;
        row.state = AllocationState::kQueued;
        if (now.state == Allocation::State::kRunning) Begin(engine, row);
        row.engine_id = now.id;
        row.reason = now.reason;
        row.hosts = now.hosts;
        if (now.held && row.cancel.empty()) {
          status = Cancel(engine, row, {row.number, "Its engine holds it: " + Sentence(now.reason), true});
        } else if (!(row == before)) {
          status = TableOf(engine).Update(row);
        }
      }
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Losses of the workers that are still taken to be there will be told with what the engine said.
void PoolBook::ExplainLosses(Engine& engine, const AllocationRow& row) {
  for (const std::string& name : NamesOf(engine, row)) {
    if (WorkerEntry* worker = engine.workers().FindPresentByName(name)) worker->end_words = row.reason;
  }
}

absl::Status PoolBook::End(Engine& engine, AllocationRow& row, const std::string& reason, bool failed,
                           PoolOrders& orders) {
  Context& context = engine.context();
  row.state = AllocationState::kEnded;
  row.end_us = context.wall_us();
  row.reason = reason;
  row.failed = row.workers == 0 && (row.cancel.empty() ? failed : row.failed);
  if (!row.token.empty()) {
    absl::StatusOr<TokenRow> token = context.store.tokens.Revoke(row.token, context.wall_us());
    if (token.ok()) orders.tokens.push_back(*std::move(token));
    if (!token.ok() && !absl::IsNotFound(token.status())) return token.status();
  }
  for (const std::string& name : NamesOf(engine, row)) {
    const WorkerMark* mark = engine.workers().marks().Find(name);
    if (mark != nullptr) engine.workers().marks().Clear(name);
  }
  watches_.erase(row.number);
  sums_.reset();
  departed_[row.number] = {row, context.steady_us() + kComeBackUs};
  std::map<int64_t, AllocationRow, std::greater<>>& ended = ended_[row.pool];
  ended[row.number] = row;
  if (static_cast<int64_t>(ended.size()) > kEndedKept) ended.erase(std::prev(ended.end()));
  ExplainLosses(engine, row);
  orders.forget.push_back(row);
  return TableOf(engine).Update(row);
}

absl::Status PoolBook::Cancel(Engine& engine, AllocationRow& row, const PoolsPlan::Cancellation& why) {
  row.cancel = why.reason;
  row.failed = why.failed;
  for (const std::string& name : NamesOf(engine, row)) {
    if (engine.workers().marks().Find(name) == nullptr)
      engine.workers().marks().Put({name, Marked::kDraining, why.reason, 0});
    if (WorkerEntry* worker = engine.workers().FindPresentByName(name))
      engine.recorder().Drain(*worker, why.reason);
  }
  return TableOf(engine).Update(row);
}

PoolLimits PoolBook::LimitsOf(Engine& engine, const DeclaredPool& pool) {
  const Context& context = engine.context();
  const PoolSettings& settings = pool.settings;
  const Standing& standing = standings_[settings.name];
  PoolLimits limits;
  limits.name = settings.name;
  limits.node = DeclaredRoom(settings);
  // A worker may have less than was declared, or be on loopback: then nothing is submitted for what it could
  // not hold. One that is gone is forgotten after a while, since the next may be as declared.
  const WorkerRow* real = nullptr;
  const int64_t remembered_us = std::max(begun_us_, context.wall_us() - kLongestPoolPauseUs);
  for (const auto& [id, worker] : engine.workers().all()) {
    if (!worker.live() && worker.row.register_us < remembered_us) continue;
    const auto label = worker.row.labels.find(kPoolLabel);
    if (label == worker.row.labels.end() || label->second != settings.name) continue;
    if (real == nullptr || worker.row.register_us >= real->register_us) real = &worker.row;
  }
  if (real != nullptr) {
    const WorkerRoom whole = WholeRoom(*real);
    limits.node.free_slots = std::min(limits.node.free_slots, whole.free_slots);
    limits.node.free_cpus = std::min(limits.node.free_cpus, whole.free_cpus);
    limits.node.free_memory_gib = std::min(limits.node.free_memory_gib, whole.free_memory_gib);
    if (whole.gpus.size() < limits.node.gpus.size()) limits.node.gpus.resize(whole.gpus.size());
    limits.node.labels = whole.labels;
    limits.node.loopback_of = whole.loopback_of;
  }
  limits.min_nodes = settings.min_nodes;
  limits.max_nodes = settings.max_nodes;
  limits.max_queued = settings.max_queued;
  limits.idle_us = std::chrono::microseconds(settings.idle_timeout).count();
  limits.start_us = std::chrono::microseconds(settings.start_timeout).count();
  limits.cost_per_node_hour = settings.cost_per_node_hour;
  limits.not_before_us = standing.not_before_us;
  limits.refusal = standing.refusal;
  // Allocations that the engine had at the same time count as one try.
  int64_t next_create_us = std::numeric_limits<int64_t>::max();
  for (const auto& [number, row] : ended_[settings.name]) {
    if (row.workers > 0) break;
    if (!row.failed) continue;
    if (row.end_us < next_create_us) {
      ++limits.failed_tries;
      next_create_us = row.create_us;
    }
    if (limits.failures++ > 0) continue;
    limits.failed_at_us = context.steady_us() - (context.wall_us() - row.end_us);
    // Who started the server may have mended the cause: the pause is over, and one allocation shows it.
    if (row.end_us < begun_us_) limits.failed_at_us -= kLongestPoolPauseUs;
    limits.failure = row.reason;
  }
  return limits;
}

PoolAllocation PoolBook::Observe(Engine& engine, const AllocationRow& row) {
  const int64_t now_us = engine.context().steady_us();
  Watch& watch = watches_[row.number];
  if (watch.seen_us == 0) watch.seen_us = now_us;
  PoolAllocation allocation;
  allocation.number = row.number;
  allocation.pool = row.pool;
  allocation.nodes = row.nodes;
  allocation.cancelled = !row.cancel.empty();
  allocation.joined = row.workers;
  if (row.state == AllocationState::kRunning) allocation.state = PoolAllocationState::kRunning;
  bool busy = false;
  for (const std::string& name : NamesOf(engine, row)) {
    const WorkerEntry* worker = engine.workers().FindPresentByName(name);
    if (worker == nullptr) continue;
    ++allocation.workers;
    const auto idle = idle_since_us_.find(worker->row.id);
    busy = busy || idle == idle_since_us_.end();
    if (!busy) allocation.idle_since_us = std::max(allocation.idle_since_us, idle->second);
  }
  if (busy) allocation.idle_since_us = 0;
  // The engine has requeued it: its workers will come anew.
  if (allocation.state == PoolAllocationState::kQueued && allocation.workers == 0) allocation.joined = 0;
  const bool is_short =
      allocation.state == PoolAllocationState::kRunning && allocation.workers < allocation.nodes;
  watch.short_us = !is_short ? 0 : watch.short_us == 0 ? now_us : watch.short_us;
  allocation.short_since_us = watch.short_us;
  allocation.unneeded_since_us = watch.unneeded_us;
  return allocation;
}

int64_t PoolBook::MostGangs(Engine& engine) const {
  int64_t most = 1;
  for (const DeclaredPool& pool : pools_)
    most += int64_t{pool.settings.max_nodes} * pool.settings.worker.slots;
  for (const WorkerEntry* worker : engine.workers().Present()) most += worker->live() ? worker->row.slots : 0;
  return most;
}

PoolsInput PoolBook::InputOf(Engine& engine) {
  PoolsInput input;
  std::map<std::string, int64_t> numbers;  // by the worker's name
  for (const AllocationRow& row : open_) {
    if (row.ended()) continue;
    for (const std::string& name : NamesThatCame(engine, row)) numbers[name] = row.number;
    input.allocations.push_back(Observe(engine, row));
  }
  for (const DeclaredPool& pool : pools_) input.pools.push_back(LimitsOf(engine, pool));
  input.workers = WorkersOf(engine, numbers);
  input.demand = DemandOf(engine, MostGangs(engine));
  return input;
}

absl::Status PoolBook::Record(Engine& engine, const PoolsPlan& plan, PoolOrders& orders) {
  Context& context = engine.context();
  const int64_t now_us = context.steady_us();
  for (size_t i = 0; i < pools_.size(); ++i) standings_[pools_[i].settings.name].waits = plan.waits[i];
  for (const PoolsPlan::Cancellation& cancellation : plan.cancel) {
    for (AllocationRow& row : open_) {
      if (row.number != cancellation.number) continue;
      if (absl::Status status = Cancel(engine, row, cancellation); !status.ok()) return status;
    }
  }
  for (auto& [number, watch] : watches_) {
    const bool unneeded =
        std::find(plan.unneeded.begin(), plan.unneeded.end(), number) != plan.unneeded.end();
    watch.unneeded_us = !unneeded ? 0 : watch.unneeded_us == 0 ? now_us : watch.unneeded_us;
  }
  for (const DeclaredPool& pool : pools_) {
    std::vector<int32_t> wanted;
    for (const PoolsPlan::Submission& submission : plan.submit) {
      if (submission.pool == pool.settings.name) wanted.push_back(submission.nodes);
    }
    std::sort(wanted.begin(), wanted.end());  // single nodes get numbers that follow each other
    for (const int32_t nodes : wanted) {
      AllocationRow row;
      row.pool = pool.settings.name;
      row.nodes = nodes;
      row.cost_per_node_hour = pool.settings.cost_per_node_hour;
      row.create_us = context.wall_us();
      absl::Status status = TableOf(engine).Insert(AllocationPrefix(prefix_, row.pool), row);
      if (!status.ok()) return status;
      if (make_token_ != nullptr) {
        absl::StatusOr<PoolToken> token = make_token_(row.name);
        if (!token.ok()) return token.status();
        token->row.create_us = context.wall_us();
        if (status = context.store.tokens.Insert(token->row); !status.ok()) return status;
        row.token = token->row.id;
        if (status = TableOf(engine).Update(row); !status.ok()) return status;
        orders.secrets[row.number] = token->secret;
        orders.tokens.push_back(std::move(token->row));
      }
      watches_[row.number].seen_us = now_us;
      orders.submit.push_back(row);
      open_.push_back(row);
    }
  }
  for (const AllocationRow& row : open_) {
    if (row.ended()) continue;
    Watch& watch = watches_[row.number];
    const bool again = watch.cancelled_us == 0 || now_us - watch.cancelled_us >= kCancelAgainUs;
    if (!row.cancel.empty() && again) {
      watch.cancelled_us = now_us;
      orders.cancel.push_back(row);
    }
    orders.open.push_back(row);
  }
  for (const auto& [number, departed] : departed_) orders.open.push_back(departed.row);
  return absl::OkStatus();
}

absl::StatusOr<AllocationSum> PoolBook::SumOf(Engine& engine, const std::string& pool) {
  if (!sums_) {
    absl::StatusOr<std::vector<AllocationSum>> sums = TableOf(engine).Sums();
    if (!sums.ok()) return sums.status();
    sums_ = *std::move(sums);
  }
  for (const AllocationSum& sum : *sums_) {
    if (sum.pool == pool) return sum;
  }
  return AllocationSum{pool};
}

std::string PoolBook::StateReason(const std::string& pool) {
  const Standing& standing = standings_[pool];
  if (!standing.engine_error.empty())
    return Sentence("Its engine could not be asked: " + standing.engine_error);
  const bool gives_back = std::any_of(open_.begin(), open_.end(), [&pool](const AllocationRow& row) {
    return row.pool == pool && !row.ended() && !row.cancel.empty();
  });
  if (standing.keeps.empty() || !gives_back) return standing.waits;
  return Sentence("Its engine does not end what is given back: " + standing.keeps) +
         (standing.waits.empty() ? "" : " " + standing.waits);
}

absl::StatusOr<v1::Pool> PoolBook::Message(Engine& engine, const DeclaredPool& pool) {
  const PoolSettings& settings = pool.settings;
  const Standing& standing = standings_[settings.name];
  v1::Pool message;
  message.set_name(settings.name);
  message.set_kind(settings.kind);
  message.set_slots(settings.worker.slots);
  message.set_cpus(settings.worker.cpus);
  message.set_memory_gib(settings.worker.memory_gib);
  message.set_gpus(settings.worker.gpus);
  message.set_min_nodes(settings.min_nodes);
  message.set_max_nodes(settings.max_nodes);
  message.set_cost_per_node_hour(settings.cost_per_node_hour);
  message.set_state_reason(StateReason(settings.name));
  const Context& context = engine.context();
  if (const int64_t left_us = standing.paused_until_us - context.steady_us(); left_us > 0)
    *message.mutable_paused_until() = TimeUtil::MicrosecondsToTimestamp(context.wall_us() + left_us);
  const absl::StatusOr<AllocationSum> ended_sum = SumOf(engine, settings.name);
  if (!ended_sum.ok()) return ended_sum.status();
  double node_us = ended_sum->node_us, cost = ended_sum->cost;
  int32_t workers = 0;
  for (AllocationRow row : open_) {
    if (row.pool != settings.name || row.ended()) continue;
    if (JoinedOf(engine, row) > row.workers) {  // since the newest round
      row.workers = JoinedOf(engine, row);
      Begin(engine, row);
    }
    ToMessage(row, *message.add_allocations());
    const bool runs = row.state == AllocationState::kRunning;
    (runs ? message.set_running_nodes(message.running_nodes() + row.nodes)
          : message.set_queued_nodes(message.queued_nodes() + row.nodes));
    if (row.start_us > 0) {
      const double took_us = static_cast<double>(context.wall_us() - row.start_us) * row.nodes;
      node_us += took_us;
      cost += took_us / kMicrosOfHour * row.cost_per_node_hour;
    }
    for (const std::string& name : NamesOf(engine, row))
      workers += engine.workers().FindPresentByName(name) != nullptr ? 1 : 0;
  }
  message.set_workers(workers);
  message.set_node_seconds(node_us / 1e6);
  message.set_cost(cost);
  for (const auto& [number, row] : ended_[settings.name]) ToMessage(row, *message.add_allocations());
  return message;
}

absl::Status PoolBook::Tell(Engine& engine) {
  if (told_ == nullptr) return absl::OkStatus();
  std::vector<PoolStandings::Entry> entries;
  for (const DeclaredPool& pool : pools_) {
    absl::StatusOr<v1::Pool> message = Message(engine, pool);
    if (!message.ok()) return message.status();
    entries.push_back({DeclaredRoom(pool.settings), *std::move(message)});
  }
  told_->Put(std::move(entries));
  return absl::OkStatus();
}

absl::StatusOr<v1::ListPoolsResponse> PoolBook::List(Engine& engine) {
  if (absl::Status status = Load(engine); !status.ok()) return status;
  v1::ListPoolsResponse response;
  for (const DeclaredPool& pool : pools_) {
    absl::StatusOr<v1::Pool> message = Message(engine, pool);
    if (!message.ok()) return message.status();
    *response.add_pools() = *std::move(message);
  }
  return response;
}

}  // namespace winnow
