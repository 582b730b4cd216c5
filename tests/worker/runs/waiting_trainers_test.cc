// Programs that wait for the next part of their trial: real processes, under ProcessTrainers.

#include "worker/runs/waiting_trainers.h"

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <optional>

#include "artifact/digest.h"
#include "checkout.h"
#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/run_until.h"
#include "worker/host/usage.h"
#include "worker/runs/process_trainers.h"
#include "worker/sources/source_keeper.h"

namespace winnow {
namespace {

// Prints each level and its process id, and waits. kDies: ends without a word when it is told to go on, once.
// kUntrue: says that it waits at another level than it was to train to, and exits with 4 when it is told to
// end. kFile: writes each level to a file, too. kLarge: needs more than 8 MB. kLate: says that it waits once
// it has got SIGTERM, which does not end it.
constexpr char kProgram[] = R"(
[ "$MODE" = late ] && trap 'told=1' TERM
[ "$MODE" = large ] && printf -v ballast '%*s' 8000000 ''
level=$WINNOW_RESOURCE_FROM; to=$WINNOW_RESOURCE_TO
while true; do
  while [ $level -lt $to ]; do level=$((level + 1))
    [ "$MODE" = file ] && echo "{\"epoch\": $level, \"loss\": $level}" >> $SM_OUTPUT_DATA_DIR/m.jsonl
    echo "loss=$level pid=$$ slot=$WINNOW_SLOT"
  done
  echo $level > $WINNOW_CHECKPOINT_DIR/level
  [ -n "$WINNOW_CONTROL_FD" ] || exit 0
  [ "$MODE" = late ] && until [ -n "$told" ]; do sleep 0.01; done
  [ "$MODE" = untrue ] && echo "waiting 1" >&$WINNOW_CONTROL_FD || echo "waiting $level" >&$WINNOW_CONTROL_FD
  read -r word to rest <&$WINNOW_CONTROL_FD || exit 5
  [ "$MODE" = untrue ] && exit 4
  [ "$word" = continue ] || exit 0
  [ "$MODE" = dies ] && [ ! -e $SM_OUTPUT_DATA_DIR/died ] && touch $SM_OUTPUT_DATA_DIR/died && exit 3
done
)";

struct Part {
  absl::Status start;
  v1::Outcome outcome;
  std::vector<int64_t> levels;
  std::string out;
  bool continued = false;
  bool ended = false;
  int measured_at_start = 0;  // assignments whose usage is measured
  int measured_at_end = 0;

  // The one that its last line names.
  int pid() const { return std::stoi(out.substr(out.rfind("pid=") + 4)); }
};

v1::Assignment PartOf(int64_t trial, int64_t attempt, int64_t from, int64_t to,
                      const std::string& mode = "") {
  const std::string id = "job." + std::to_string(trial) + "." + std::to_string(attempt);
  v1::Assignment assignment = MakeAssignment(id, {"/bin/bash", "-c", kProgram});
  assignment.set_trial(trial);
  assignment.set_attempt(attempt);
  assignment.set_resource_from(from);
  assignment.set_resource_to(to);
  (*assignment.mutable_environment())["MODE"] = mode;
  return assignment;
}

class Host {
 public:
  explicit Host(WarmLimits limits, const std::optional<RunAs>& run_as = std::nullopt)
      : users_(run_as.has_value() ? std::optional(*TrainerUsers::Create(*run_as, folder_ / "registry"))
                                  : std::nullopt),
        trainers_(&loop_,
                  {folder_ / "work",
                   folder_ / "shared",
                   WINNOW_BIN_DIR,
                   "127.0.0.1",
                   {"PATH=/usr/bin:/bin"},
                   nullptr,
                   &usage_,
                   "",
                   "",
                   users_.has_value() ? &*users_ : nullptr},
                  {29500, 100}, nullptr, &sources_, limits) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  }

  // Returns the digest of a source that is there.
  std::string AddSource() {
    const std::string digest = DigestOf("source");
    std::filesystem::create_directories(folder_ / "work/sources" / digest);
    std::ofstream(folder_ / "work/sources" / (digest + ".done")) << 0;
    return digest;
  }

  // `stops`: it is stopped once it has printed.
  Part Run(const v1::Assignment& assignment, bool stops = false) {
    Part part;
    std::unique_ptr<RankRun> run;
    trainers_.Prepare(assignment, [&](const absl::StatusOr<Trainers::Prepared>& prepared) {
      REQUIRE(prepared.ok());
      auto started = trainers_.Start(
          assignment, {[&part](const v1::Report& report) { part.levels.push_back(report.resource()); },
                       [&part](v1::GetLogsRequest::Stream stream, int64_t, std::string_view data, bool) {
                         if (stream == v1::GetLogsRequest::STDOUT) part.out += data;
                       },
                       [this, &part](v1::Outcome outcome) {
                         part.outcome = std::move(outcome);
                         part.measured_at_end = usage_.Sample().assignments_size();
                         part.ended = true;
                       }});
      part.start = started.status();
      part.ended = !started.ok();
      if (part.ended) return;
      run = *std::move(started);
      part.continued = run->part_start() == v1::CONTINUED;
      part.measured_at_start = usage_.Sample().assignments_size();
    });
    if (stops) {
      REQUIRE(Await([&part] { return !part.out.empty(); }));
      run->Stop(RankRun::Why::kUnwanted);
    }
    REQUIRE(Await([&part] { return part.ended; }));
    return part;
  }

  bool Await(const std::function<bool()>& condition) { return RunUntil(loop_, condition); }
  bool AwaitEndOf(int pid) {
    return Await([pid] { return kill(pid, 0) != 0; });
  }

  std::vector<int64_t> Waiting() const {
    std::vector<int64_t> trials;
    for (const v1::WaitingTrainer& waiting : trainers_.Waiting()) trials.push_back(waiting.trial());
    return trials;
  }
  ProcessTrainers& trainers() { return trainers_; }
  std::filesystem::path shared() const { return folder_ / "shared"; }

 private:
  TempFolder folder_;
  EventLoop loop_;
  HostUsage usage_;
  std::optional<TrainerUsers> users_;
  SourceKeeper sources_{&loop_, grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()),
                        folder_ / "work", nullptr};
  ProcessTrainers trainers_;
};

}  // namespace

TEST_CASE("Waiting trainers: the next part goes on in the same process, as itself", "[worker]") {
  Host host({2});
  const Part first = host.Run(PartOf(1, 1, 0, 2));
  CHECK(first.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(first.levels == std::vector<int64_t>{1, 2});
  REQUIRE(host.Waiting() == std::vector<int64_t>{1});
  CHECK(host.trainers().Waiting()[0].resource() == 2);

  const Part second = host.Run(PartOf(1, 2, 2, 5));
  CHECK(second.continued);
  CHECK(second.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(second.levels == std::vector<int64_t>{3, 4, 5});
  CHECK(second.pid() == first.pid());
  CHECK(second.out.find("loss=2 ") == std::string::npos);

  // Another trial's part has nothing to do with it.
  const Part other = host.Run(PartOf(2, 1, 0, 1));
  CHECK_FALSE(other.continued);
  CHECK(other.pid() != first.pid());
  CHECK(host.Waiting() == std::vector<int64_t>{1, 2});
}

// Each part begins with a line; it is lost if the file is looked at only afterwards.
TEST_CASE("Waiting trainers: of a metrics file, the first lines of every part count", "[worker]") {
  Host host({2});
  for (int64_t level = 1; level <= 30; ++level) {
    v1::Assignment assignment = PartOf(1, level, level - 1, level, "file");
    assignment.mutable_metrics(0)->clear_regex();
    assignment.set_metrics_file("m.jsonl");
    const Part part = host.Run(assignment);
    CHECK(part.continued == (level > 1));
    CHECK(part.levels == std::vector<int64_t>{level});
  }
}

TEST_CASE("Waiting trainers: what differs starts anew, and the old program ends", "[worker]") {
  Host host({2});
  const Part first = host.Run(PartOf(1, 1, 0, 2));
  v1::Assignment second = PartOf(1, 2, 2, 3);
  SECTION("another attempt was between") { second.set_attempt(3); }
  SECTION("another level") { second.set_resource_from(1); }
  SECTION("another command") { second.add_command("more"); }
  SECTION("another environment") { (*second.mutable_environment())["SM_HPS"] = "{}"; }
  SECTION("another limit") { second.set_memory_gib(8); }
  SECTION("a device") { second.add_gpus("GPU-1"); }
  SECTION("two ranks") { second.set_world_size(2); }
  const Part part = host.Run(second);
  CHECK_FALSE(part.continued);
  CHECK(part.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(part.pid() != first.pid());
  CHECK(host.AwaitEndOf(first.pid()));
}

TEST_CASE("Waiting trainers: one that dies costs a start and no failure", "[worker]") {
  Host host({2});
  SECTION("while it waits") {
    const Part first = host.Run(PartOf(1, 1, 0, 2));
    kill(first.pid(), SIGKILL);
    REQUIRE(host.Await([&host] { return host.Waiting().empty(); }));
    const Part second = host.Run(PartOf(1, 2, 2, 3));
    CHECK_FALSE(second.continued);
    CHECK(second.outcome.kind() == v1::Outcome::FINISHED);
    CHECK(second.levels == std::vector<int64_t>{3});
  }
  SECTION("when it is to go on") {
    const Part first = host.Run(PartOf(1, 1, 0, 2, "dies"));
    const Part second = host.Run(PartOf(1, 2, 2, 3, "dies"));
    CHECK(second.continued);
    CHECK(second.outcome.kind() == v1::Outcome::FINISHED);
    CHECK(second.levels == std::vector<int64_t>{3});
    CHECK(second.pid() != first.pid());
  }
}

TEST_CASE("Waiting trainers: one that has not trained to its level is judged by its end", "[worker]") {
  Host host({2});
  const Part part = host.Run(PartOf(1, 1, 0, 2, "untrue"));
  CHECK(part.outcome.kind() == v1::Outcome::FAILED);
  CHECK(part.outcome.exit_code() == 4);
  CHECK(host.Waiting().empty());
}

TEST_CASE("Waiting trainers: a program that begins to wait while it is being stopped is told to end",
          "[worker]") {
  Host host({2});
  const Part part = host.Run(PartOf(1, 1, 0, 2, "late"), true);
  CHECK(part.outcome.kind() == v1::Outcome::STOPPED);
  CHECK(part.outcome.exit_code() == 0);  // not killed
}

TEST_CASE("Waiting trainers: those beyond the limit and those let go end by themselves", "[worker]") {
  Host host({2});
  std::vector<Part> parts;
  for (int64_t trial = 1; trial <= 3; ++trial) parts.push_back(host.Run(PartOf(trial, 1, 0, 1)));
  CHECK(host.Waiting() == std::vector<int64_t>{2, 3});
  CHECK(host.AwaitEndOf(parts[0].pid()));

  v1::WaitingTrainer known = host.trainers().Waiting()[0];
  v1::WaitingTrainer older = known;
  older.set_resource(9);
  host.trainers().LetGo(older);  // an order about another level
  CHECK(host.Waiting() == std::vector<int64_t>{2, 3});
  host.trainers().LetGo(known);
  CHECK(host.Waiting() == std::vector<int64_t>{3});
  CHECK(host.AwaitEndOf(parts[1].pid()));

  host.trainers().LetGoAll(true);
  CHECK(host.AwaitEndOf(parts[2].pid()));
  CHECK(host.Run(PartOf(4, 1, 0, 1)).outcome.kind() == v1::Outcome::FINISHED);
  CHECK(host.Waiting().empty());
}

TEST_CASE("Waiting trainers: nothing waits without a place, or against the job", "[worker]") {
  SECTION("no place") {
    Host host({0});
    const Part part = host.Run(PartOf(1, 1, 0, 1));
    CHECK(part.outcome.kind() == v1::Outcome::FINISHED);
    CHECK(host.Waiting().empty());
    CHECK(host.AwaitEndOf(part.pid()));
  }
  SECTION("the job says no") {
    Host host({2});
    v1::Assignment assignment = PartOf(1, 1, 0, 1);
    assignment.set_warm(v1::TrainerSpec::OFF);
    CHECK(host.AwaitEndOf(host.Run(assignment).pid()));
    CHECK(host.Waiting().empty());
  }
  SECTION("it would keep a device") {
    Host host({2});
    v1::Assignment assignment = PartOf(1, 1, 0, 1);
    assignment.add_gpus("GPU-1");
    CHECK(host.AwaitEndOf(host.Run(assignment).pid()));
    assignment = PartOf(2, 1, 0, 1);
    assignment.add_gpus("GPU-1");
    assignment.set_warm(v1::TrainerSpec::GPU);
    host.Run(assignment);
    CHECK(host.Waiting() == std::vector<int64_t>{2});
  }
  SECTION("too little memory") {
    Host host({2, 1e-6});
    CHECK(host.AwaitEndOf(host.Run(PartOf(1, 1, 0, 1)).pid()));
    CHECK(host.Waiting().empty());
  }
}

TEST_CASE("Waiting trainers: beyond the limit those end first that the server can spare", "[worker]") {
  Host host({2});
  host.Run(PartOf(1, 1, 0, 1));
  host.Run(PartOf(2, 1, 0, 1));
  v1::WaitingTrainer spared;
  spared.set_job_id(PartOf(2, 1, 0, 1).job_id());
  spared.set_trial(2);
  spared.set_resource(1);
  host.trainers().Spare({spared});
  host.Run(PartOf(3, 1, 0, 1));
  CHECK(host.Waiting() == std::vector<int64_t>{1, 3});
}

TEST_CASE("Waiting trainers: fifty paused trials hold no more memory than the limit, and all can go on",
          "[worker]") {
  constexpr double kLimit = 40 * 1024 * 1024;
  Host host({1000, kLimit / (1 << 30)});
  std::vector<int> pids;
  const auto held = [&pids] {
    double bytes = 0;
    for (const int pid : pids) bytes += static_cast<double>(AnonymousMemoryOf(pid));
    return bytes;
  };
  for (int64_t trial = 1; trial <= 50; ++trial) {
    const Part part = host.Run(PartOf(trial, 1, 0, 1, "large"));
    REQUIRE(part.outcome.kind() == v1::Outcome::FINISHED);
    pids.push_back(part.pid());
    REQUIRE(host.Await([&] { return held() <= kLimit; }));
    std::erase_if(pids, [](int pid) { return kill(pid, 0) != 0; });
  }
  const std::vector<int64_t> waiting = host.Waiting();
  CHECK((waiting.size() >= 2 && waiting.size() <= 5));
  CHECK(waiting.back() == 50);
  const Part cold = host.Run(PartOf(1, 2, 1, 2, "large")), warm = host.Run(PartOf(50, 2, 1, 2, "large"));
  CHECK_FALSE(cold.continued);
  CHECK(warm.continued);
  for (const Part* part : {&cold, &warm}) CHECK(part->levels == std::vector<int64_t>{2});
}

// ---- suspended ones

// Prints levels without end, faster than it is read, from a child of its process; in MODE short up to
// level 3.
constexpr char kCounter[] = R"(
(level=0; while [ "$MODE" != short ] || [ $level -lt 3 ]; do level=$((level + 1)); echo "loss=$level pid=$$ child=$BASHPID"; done) &
wait
)";

v1::Assignment SuspendedPartOf(int64_t trial, int64_t attempt, int64_t from, int64_t to,
                               const std::string& mode = "") {
  v1::Assignment assignment = PartOf(trial, attempt, from, to, mode);
  assignment.set_command(2, kCounter);
  assignment.set_resumes(false);
  assignment.set_warm(v1::TrainerSpec::SUSPEND);
  return assignment;
}

// "T": it is suspended; "": it is gone.
std::string StateOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t end = line.rfind(')');
  return end == std::string::npos ? "" : line.substr(end + 2, 1);
}

int ChildOf(const Part& part) { return std::stoi(part.out.substr(part.out.find("child=") + 6)); }

TEST_CASE("Suspended trainers: go on from where they were, and no line is lost or counted early",
          "[worker]") {
  Host host({2});
  const Part first = host.Run(SuspendedPartOf(1, 1, 0, 2));
  REQUIRE(first.start.ok());
  CHECK(first.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(first.levels == std::vector<int64_t>{1, 2});
  REQUIRE(host.Waiting() == std::vector<int64_t>{1});
  CHECK(host.trainers().Waiting()[0].suspended());
  CHECK(host.trainers().Waiting()[0].resource() == 2);
  const int leader = std::stoi(first.out.substr(first.out.find("pid=") + 4)), child = ChildOf(first);
  for (const int pid : {leader, child}) CHECK(host.Await([pid] { return StateOf(pid) == "T"; }));

  // Thousands of levels more than a pipe holds.
  int64_t level = 2, attempt = 1;
  for (const int64_t to : {3, 40, 41, 6000, 20000}) {
    const Part part = host.Run(SuspendedPartOf(1, ++attempt, level, to));
    REQUIRE(part.start.ok());
    CHECK(part.continued);
    CHECK(part.outcome.kind() == v1::Outcome::FINISHED);
    std::vector<int64_t> expected;
    while (level < to) expected.push_back(++level);
    CHECK(part.levels == expected);
    CHECK(host.Await([child] { return StateOf(child) == "T"; }));
  }
}

TEST_CASE("Suspended trainers: the last part ends as any other", "[worker]") {
  Host host({2});
  const Part first = host.Run(SuspendedPartOf(1, 1, 0, 2));
  v1::Assignment last = SuspendedPartOf(1, 2, 2, 5);
  last.set_warm(v1::TrainerSpec::OFF);
  const Part part = host.Run(last);
  CHECK(part.continued);
  CHECK(part.levels == std::vector<int64_t>{3, 4, 5});
  CHECK(part.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(host.Waiting().empty());
  CHECK(host.AwaitEndOf(ChildOf(first)));
}

TEST_CASE("Suspended trainers: the part after one that has died is handed back", "[worker]") {
  Host host({2});
  const Part first = host.Run(SuspendedPartOf(1, 1, 0, 2));
  SECTION("killed") {
    kill(std::stoi(first.out.substr(first.out.find("pid=") + 4)), SIGKILL);
    REQUIRE(host.Await([&host] { return host.Waiting().empty(); }));
  }
  SECTION("let go") { host.trainers().LetGo(host.trainers().Waiting()[0]); }
  SECTION("it trains something else") { CHECK(absl::IsAborted(host.Run(SuspendedPartOf(1, 3, 2, 4)).start)); }
  CHECK(absl::IsAborted(host.Run(SuspendedPartOf(1, 2, 2, 4)).start));
  CHECK(host.AwaitEndOf(ChildOf(first)));
  const Part anew = host.Run(SuspendedPartOf(1, 3, 0, 3));
  CHECK_FALSE(anew.continued);
  CHECK(anew.levels == std::vector<int64_t>{1, 2, 3});
}

TEST_CASE("Suspended trainers: one that ends by itself has trained to its own end", "[worker]") {
  Host host({2});
  const Part part = host.Run(SuspendedPartOf(1, 1, 0, 9, "short"));
  CHECK(part.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(part.levels == std::vector<int64_t>{1, 2, 3});
  CHECK(host.Waiting().empty());
}

TEST_CASE("Suspended trainers: beyond the limit those end that have trained least", "[worker]") {
  Host host({2});
  const Part most = host.Run(SuspendedPartOf(1, 1, 0, 9));
  const Part least = host.Run(SuspendedPartOf(2, 1, 0, 1));
  const Part middle = host.Run(SuspendedPartOf(3, 1, 0, 4));
  CHECK(host.Waiting() == std::vector<int64_t>{1, 3});
  CHECK(host.AwaitEndOf(ChildOf(least)));
  host.Run(PartOf(4, 1, 0, 1));  // it has a checkpoint
  CHECK(host.Waiting() == std::vector<int64_t>{1, 3});
  CHECK(StateOf(ChildOf(most)) == "T");
  host.trainers().LetGoAll(true);
  CHECK(host.AwaitEndOf(ChildOf(most)));
  CHECK(host.AwaitEndOf(ChildOf(middle)));
}

TEST_CASE("Suspended trainers: the memory of all their processes counts", "[worker]") {
  const auto leader_of = [](const Part& part) {
    return std::stoi(part.out.substr(part.out.find("pid=") + 4));
  };
  double enough_for_one = 0;
  {
    Host host({9});
    const Part part = host.Run(SuspendedPartOf(1, 1, 0, 2));
    REQUIRE(host.Waiting() == std::vector<int64_t>{1});
    const auto leader = static_cast<double>(AnonymousMemoryOf(leader_of(part)));
    const auto child = static_cast<double>(AnonymousMemoryOf(ChildOf(part)));
    REQUIRE((leader > 0 && child > 0));
    enough_for_one = (std::max(leader, child) + std::min(leader, child) / 2) / (1 << 30);
  }
  Host host({9, enough_for_one});
  const Part part = host.Run(SuspendedPartOf(1, 1, 0, 2));
  CHECK(host.AwaitEndOf(ChildOf(part)));
  CHECK(host.Waiting().empty());
}

TEST_CASE("Trainers: what an earlier attempt has left is removed beside the loop, before the next one begins",
          "[worker]") {
  Host host({2});
  v1::Assignment assignment = PartOf(1, 2, 0, 0);
  assignment.set_resumes(false);
  const auto checkpoint = host.shared() / "jobs" / assignment.job_id() / "trials/1/checkpoint";
  std::filesystem::create_directories(checkpoint);
  for (int i = 0; i < 5000; ++i) std::ofstream(checkpoint / std::to_string(i)) << "";
  bool prepared = false;
  host.trainers().Prepare(assignment, [&](const auto& result) {
    REQUIRE(result.ok());
    CHECK(std::filesystem::is_empty(checkpoint));
    prepared = true;
  });
  SECTION("it is wanted") {
    int rounds = 0;
    REQUIRE(host.Await([&] { return ++rounds > 0 && prepared; }));
    CHECK(rounds > 2);
  }
  SECTION("it is wanted no longer") {
    int rounds = 0;
    REQUIRE(host.Await([&] { return ++rounds > 1; }));
    host.trainers().AbandonPrepare(assignment.id());
    REQUIRE(host.Await([&] { return std::filesystem::is_empty(checkpoint) && ++rounds > 10; }));
    CHECK_FALSE(prepared);
  }
}

TEST_CASE("Trainers: what an earlier attempt has left is given to the trial's user beside the loop",
          "[worker]") {
  if (geteuid() != 0) return Skip("only root runs trainers as others");
  // Numbers of this process alone.
  const uid_t first = 2'000'000 + 4 * static_cast<uid_t>(getpid());
  Host host({2}, *RunAs::Parse(fmt::format("{}-{}", first, first + 1)));
  const v1::Assignment assignment = PartOf(1, 2, 1, 2);
  const auto checkpoint = host.shared() / "jobs" / assignment.job_id() / "trials/1/checkpoint";
  std::filesystem::create_directories(checkpoint);
  for (int i = 0; i < 5000; ++i) std::ofstream(checkpoint / std::to_string(i)) << "";
  bool prepared = false;
  host.trainers().Prepare(assignment, [&](const auto& result) {
    REQUIRE(result.ok());
    struct stat about {};
    for (const char* name : {"0", "4999"}) {
      REQUIRE(stat((checkpoint / name).c_str(), &about) == 0);
      CHECK((about.st_uid == first || about.st_uid == first + 1));
    }
    prepared = true;
  });
  int rounds = 0;
  REQUIRE(host.Await([&] { return ++rounds > 0 && prepared; }));
  CHECK(rounds > 2);
}

TEST_CASE("Waiting trainers: a program is not measured for its part once the part has ended", "[worker]") {
  const bool suspended = GENERATE(false, true);
  Host host({2});
  const Part part = host.Run(suspended ? SuspendedPartOf(1, 1, 0, 2) : PartOf(1, 1, 0, 2));
  CHECK(host.Waiting() == std::vector<int64_t>{1});
  CHECK(part.measured_at_start == 1);
  CHECK(part.measured_at_end == 0);
}

TEST_CASE("Waiting trainers: one ends where a setup needs its user", "[worker]") {
  if (geteuid() != 0) return Skip("only root runs trainers as others");
  // Numbers of this process alone.
  const uid_t first = 2'000'000 + 4 * static_cast<uid_t>(getpid());
  Host host({2}, *RunAs::Parse(fmt::format("{}-{}", first, first + 1)));
  for (const int64_t trial : {1, 2}) host.Run(PartOf(trial, 1, 0, 1));
  REQUIRE(host.Waiting() == std::vector<int64_t>{1, 2});
  v1::Assignment assignment = PartOf(3, 1, 0, 1);
  assignment.mutable_source()->set_digest(host.AddSource());
  assignment.mutable_source()->add_setup("true");
  CHECK(host.Run(assignment).outcome.kind() == v1::Outcome::FINISHED);
  CHECK(host.Waiting() == std::vector<int64_t>{2, 3});
}

TEST_CASE("Waiting trainers: none outlives its worker", "[worker]") {
  int pid = 0;
  {
    Host host({2});
    pid = host.Run(PartOf(1, 1, 0, 1)).pid();
    CHECK(kill(pid, 0) == 0);
  }
  CHECK(kill(pid, 0) != 0);
}

}  // namespace winnow
