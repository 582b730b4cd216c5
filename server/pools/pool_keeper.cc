#include "server/pools/pool_keeper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/status_text.h"
#include "server/pools/fault_point.h"

namespace winnow {
namespace {

using std::chrono::steady_clock;

constexpr double kJoinPart = 0.8;     // of start_timeout
constexpr int kOfflineSeconds = 600;  // workers leave when the server has been silent for this long
constexpr int kCalmPolls = 6;         // where nothing changes, an engine is asked this many times less often
constexpr double kStagger =
    0.1;  // the last part of its life in which a worker leaves, so that not all do at once

bool Gives(const std::vector<std::string>& arguments, const std::string& flag) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == flag || argument.starts_with(flag + "=");
  });
}

// Whether something is about to change at the engine.
bool Changes(const AllocationRow& row) {
  if (row.ended()) return false;
  return row.state != AllocationState::kRunning || !row.cancel.empty() || row.workers < row.nodes;
}

}  // namespace

PoolKeeper::PoolKeeper(Coordinator& coordinator, PoolKeeperOptions options)
    : coordinator_(coordinator),
      options_(std::move(options)),
      book_(std::make_shared<PoolBook>(options_.pools, options_.prefix, options_.make_token,
                                       options_.standings)) {
  for (const DeclaredPool& pool : options_.pools) engines_.push_back(std::make_unique<Engine>(pool));
}

PoolKeeper::~PoolKeeper() { Stop(); }

void PoolKeeper::AnnounceStop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  for (const std::unique_ptr<Engine>& engine : engines_) engine->pool.engine->Stop();
}

bool PoolKeeper::Stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

void PoolKeeper::Stop() {
  AnnounceStop();
  if (thread_.joinable()) thread_.join();
  for (const std::unique_ptr<Engine>& engine : engines_) engine->thread.Stop();
}

void PoolKeeper::Start(std::string server) {
  server_ = std::move(server);
  thread_ = std::thread([this] { Run(); });
}

void PoolKeeper::List(std::function<void(absl::StatusOr<v1::ListPoolsResponse>)> done) {
  coordinator_.Call<absl::StatusOr<v1::ListPoolsResponse>>(
      [book = book_](winnow::Engine& engine) { return book->List(engine); }, std::move(done));
}

absl::StatusOr<std::string> PoolKeeper::Render(const std::string& name, int32_t nodes) const {
  for (const DeclaredPool& pool : options_.pools) {
    if (pool.settings.name != name) continue;
    const int64_t number = 1;
    const std::string allocation = fmt::format("{}-{}", AllocationPrefix(options_.prefix, name), number);
    return pool.engine->Render({RequestFor(pool, allocation, number, std::max(1, nodes), "")});
  }
  return absl::NotFoundError(fmt::format("there is no pool \"{}\"", name));
}

void PoolKeeper::Run() {
  while (true) {
    Step();
    MutexLock lock(mutex_);
    // Answers to what was submitted are recorded at once.
    if (!stopping_ && answers_.empty()) wake_.WaitUntil(mutex_, steady_clock::now() + options_.tick);
    if (stopping_) return;
  }
}

void PoolKeeper::Step() {
  TakeAnswers();
  if (Stopping()) return;  // an engine may have been cut short
  const absl::StatusOr<PoolOrders> orders = coordinator_.CallOrRollBack<absl::StatusOr<PoolOrders>>(
      [book = book_, news = news_, anew = failed_](winnow::Engine& engine) {
        return book->Round(engine, news, anew);
      });
  failed_ = !orders.ok();
  if (failed_) {
    spdlog::warn("pools: nothing could be recorded: {}", MessageOf(orders.status()));
  } else {
    news_.clear();
    open_ = orders->open;
    if (!orders->submit.empty()) FaultPoint("pools: recorded");
    if (options_.put_token != nullptr) {
      for (const TokenRow& token : orders->tokens) options_.put_token(token);
    }
    Share(*orders);
  }
  for (const std::unique_ptr<Engine>& engine : engines_) Begin(*engine);
}

void PoolKeeper::TakeAnswers() {
  std::vector<Answer> answers;
  {
    MutexLock lock(mutex_);
    answers.swap(answers_);
  }
  for (Answer& answer : answers) {
    Engine& engine = *answer.engine;
    engine.busy = false;
    if (engine.rest) engine.next_poll = steady_clock::now() + *engine.rest;
    for (PoolNews& each : answer.news) {
      if (each.listed) {
        AddList(std::move(each), news_);
      } else {
        news_.push_back(std::move(each));
      }
    }
  }
}

void PoolKeeper::Share(const PoolOrders& orders) {
  for (const std::unique_ptr<Engine>& engine : engines_) {
    PoolOrders& own = engine->orders;
    const auto add = [&](const std::vector<AllocationRow>& rows, std::vector<AllocationRow>& to) {
      for (const AllocationRow& row : rows) {
        if (row.pool == engine->pool.settings.name) to.push_back(row);
      }
    };
    add(orders.submit, own.submit);
    for (const AllocationRow& row : orders.cancel) {
      const auto same = [&row](const AllocationRow& other) { return other.number == row.number; };
      std::erase_if(own.cancel, same);  // that the engine has not heard of yet
      if (std::erase_if(own.submit, same) > 0) own.secrets.erase(row.number);
    }
    add(orders.cancel, own.cancel);
    add(orders.leftovers, own.leftovers);
    add(orders.forget, own.forget);
    for (const AllocationRow& row : own.submit) {
      if (const auto secret = orders.secrets.find(row.number); secret != orders.secrets.end())
        own.secrets.insert(*secret);
    }
  }
}

void PoolKeeper::Begin(Engine& engine) {
  if (engine.busy) return;
  const PoolSettings& settings = engine.pool.settings;
  PoolOrders orders = std::exchange(engine.orders, {});
  const bool acts = !orders.submit.empty() || !orders.cancel.empty();
  std::vector<AllocationRow> asked;
  // What is just submitted is listed in a moment, not at once.
  if (orders.submit.empty() && steady_clock::now() >= engine.next_poll) {
    std::copy_if(open_.begin(), open_.end(), std::back_inserter(asked),
                 [&](const AllocationRow& row) { return row.pool == settings.name; });
  }
  if (!acts && orders.leftovers.empty() && orders.forget.empty() && asked.empty()) return;
  engine.rest.reset();
  if (!asked.empty())
    engine.rest = settings.poll * (std::any_of(asked.begin(), asked.end(), Changes) ? 1 : kCalmPolls);
  // They begin to run, or end, in a moment, not at once.
  if (acts) engine.rest = std::min(options_.tick, settings.poll);
  engine.busy = true;
  engine.thread.Post([this, &engine, orders = std::move(orders), asked = std::move(asked)] {
    Answer answer{&engine, {}};
    if (!Stopping()) Do(engine.pool, orders, answer.news);
    if (!Stopping() && !asked.empty()) answer.news.push_back(ListAll(engine.pool, asked));
    {
      MutexLock lock(mutex_);
      answers_.push_back(std::move(answer));
    }
    wake_.NotifyOne();
  });
}

PoolNews PoolKeeper::ListAll(const DeclaredPool& pool, const std::vector<AllocationRow>& rows) {
  std::vector<AllocationKey> keys;
  PoolNews list;
  list.pool = pool.settings.name;
  list.listed = true;
  std::set<std::string> open;  // names
  for (const AllocationRow& row : rows) {
    keys.push_back({row.name, row.engine_id});
    list.asked.insert(row.number);
    if (!row.ended()) open.insert(row.name);
  }
  absl::StatusOr<std::vector<Allocation>> known = pool.engine->List(keys);
  list.status = known.status();
  if (!known.ok()) {
    spdlog::warn("pool {}: its engine could not be asked: {}", list.pool, MessageOf(known.status()));
    return list;
  }
  list.allocations = *std::move(known);
  for (const Allocation& allocation : list.allocations) {
    if (allocation.state != Allocation::State::kEnded || !open.contains(allocation.name)) continue;
    const std::string words = pool.engine->LastWords({allocation.name, allocation.id});
    if (!words.empty()) list.last_words[allocation.name] = words;
  }
  return list;
}

void PoolKeeper::Do(const DeclaredPool& pool, const PoolOrders& orders, std::vector<PoolNews>& news) {
  const std::string& name = pool.settings.name;
  if (!orders.submit.empty()) SubmitAll(pool, orders, news);
  if (Stopping()) return;
  std::vector<AllocationKey> cancel;
  for (const AllocationRow& row : orders.cancel) {
    spdlog::info("pool {}: {} is given back: {}", name, row.name, row.cancel);
    cancel.push_back({row.name, row.engine_id});
  }
  if (!cancel.empty()) {
    FaultPoint("pools: before cancel");
    const absl::Status status = pool.engine->Cancel(cancel);
    if (!status.ok()) spdlog::warn("pool {}: it could not be given back yet: {}", name, MessageOf(status));
    PoolNews& told = news.emplace_back();
    told.pool = name;
    told.cancelled = true;
    told.status = status;
    FaultPoint("pools: after cancel");
  }
  if (Stopping()) return;
  for (const AllocationRow& row : orders.leftovers) (void)pool.engine->Forget({row.name, row.engine_id});
  for (const AllocationRow& row : orders.forget) {
    spdlog::info("pool {}: {} has ended: {}", name, row.name, row.reason);
    FaultPoint("pools: before forget");
    const absl::Status status = pool.engine->Forget({row.name, row.engine_id});
    if (!status.ok()) spdlog::warn("pool {}: {}", name, MessageOf(status));
  }
}

void PoolKeeper::SubmitAll(const DeclaredPool& pool, const PoolOrders& orders, std::vector<PoolNews>& all) {
  const std::vector<AllocationRow>& rows = orders.submit;
  auto most = static_cast<size_t>(std::max(1, pool.engine->most_in_batch()));
  const auto follows = [&rows](size_t at) {
    return at < rows.size() && rows[at].nodes == 1 && rows[at - 1].nodes == 1 &&
           rows[at].number == rows[at - 1].number + 1;
  };
  for (size_t begin = 0; begin < rows.size() && !Stopping();) {
    size_t end = begin + 1;
    while (end - begin < most && follows(end)) ++end;
    PoolNews news = Submit(pool, std::span(rows).subspan(begin, end - begin), orders.secrets);
    if (absl::IsResourceExhausted(news.status)) {
      if (end - begin > 1) {  // the limit may leave room for some of them
        most = (end - begin) / 2;
        continue;
      }
      for (; follows(end); ++end) news.submitted.push_back(rows[end].number);
    }
    all.push_back(std::move(news));
    begin = end;
  }
}

PoolNews PoolKeeper::Submit(const DeclaredPool& pool, std::span<const AllocationRow> batch,
                            const std::map<int64_t, std::string>& secrets) {
  PoolNews news;
  news.pool = pool.settings.name;
  std::vector<AllocationRequest> requests;
  for (const AllocationRow& row : batch) {
    const auto secret = secrets.find(row.number);
    requests.push_back(
        RequestFor(pool, row.name, row.number, row.nodes, secret == secrets.end() ? "" : secret->second));
    news.submitted.push_back(row.number);
  }
  FaultPoint("pools: before submit");
  absl::StatusOr<std::vector<std::string>> ids = pool.engine->Submit(requests);
  FaultPoint("pools: after submit");
  news.status = ids.status();
  if (ids.ok()) news.ids = *std::move(ids);
  if (news.status.ok() && news.ids.size() != news.submitted.size())
    news.status = absl::UnavailableError("the engine gave another number of ids");
  if (news.status.ok()) {
    spdlog::info("pool {}: {} submitted as {}, {} x {} nodes", news.pool, requests.front().name,
                 news.ids.front(), requests.size(), requests.front().nodes);
  } else {
    spdlog::warn("pool {}: {} could not be submitted: {}", news.pool, requests.front().name,
                 MessageOf(news.status));
  }
  return news;
}

AllocationRequest PoolKeeper::RequestFor(const DeclaredPool& pool, const std::string& name, int64_t number,
                                         int32_t nodes, const std::string& secret) const {
  const PoolSettings& settings = pool.settings;
  AllocationRequest request;
  request.name = name;
  request.number = number;
  request.nodes = nodes;
  request.shape = settings.worker;
  request.time_limit = settings.time_limit;
  std::vector<std::string>& command = request.command;
  command = settings.worker_command;
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!Gives(settings.worker_arguments, flag)) command.insert(command.end(), {flag, value});
  };
  add("--server", settings.server.empty() ? server_ : settings.server);
  command.insert(command.end(),
                 {"--name", name + ".{node}", "--slots", std::to_string(settings.worker.slots)});
  command.insert(command.end(), {"--label", fmt::format("{}={}", kPoolLabel, settings.name)});
  for (const auto& [label, value] : settings.worker.labels)
    command.insert(command.end(), {"--label", value.empty() ? label : label + "=" + value});
  if (settings.worker.cpus > 0) add("--cpus", fmt::format("{}", settings.worker.cpus));
  if (settings.worker.memory_gib > 0) add("--memory-gib", fmt::format("{}", settings.worker.memory_gib));
  if (settings.worker.gpus == 0) add("--gpus", "none");
  if (settings.cost_per_node_hour > 0) add("--cost-per-hour", fmt::format("{}", settings.cost_per_node_hour));
  add("--work-dir", "{scratch}");
  add("--offline-timeout", std::to_string(kOfflineSeconds));
  // It ends before it is given back, so that the engine, or its output, can tell why it could not join.
  add("--join-timeout", fmt::format("{:g}", kJoinPart * static_cast<double>(settings.start_timeout.count())));
  if (settings.time_limit.count() > 0) {
    const int64_t life = (settings.time_limit - settings.grace).count();
    add("--lifetime", std::to_string(life));
    add("--lifetime-stagger", std::to_string(static_cast<int64_t>(static_cast<double>(life) * kStagger)));
  }
  if (options_.make_token != nullptr) {
    add("--token-file", "{files}/token");
    request.files["token"] = secret + "\n";
  }
  if (!settings.tls_ca.empty()) {
    add("--tls-ca", "{files}/ca.pem");
    request.files["ca.pem"] = settings.tls_ca;
  }
  command.insert(command.end(), settings.worker_arguments.begin(), settings.worker_arguments.end());
  return request;
}

}  // namespace winnow
