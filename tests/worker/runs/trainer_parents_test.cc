// Programs that are forked from a parent: a Python program under winnow_trainer.serve, under ProcessTrainers.

#include "worker/runs/trainer_parents.h"

#include <signal.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/run_until.h"
#include "worker/host/process_tree.h"
#include "worker/runs/process_trainers.h"

namespace winnow {
namespace {

// A parent that answers itself, as if it were the child, and takes no further request.
constexpr char kLies[] = R"(
import os, signal, socket, sys, time
if "WINNOW_PARENT_FD" in os.environ:
    requests = socket.socket(fileno=int(os.environ["WINNOW_PARENT_FD"]))
    requests.send(b"ready holds")
    open(os.environ["BLOCK"], "w").close()
    files = socket.recv_fds(requests, 64, 5)[1]
    requests.shutdown(socket.SHUT_WR)
    requests.recv(64)  # until the worker has closed its end too
    os.write(files[3], os.environ["LIE"].encode())
    signal.pause()
os.write(int(os.environ["WINNOW_CONTROL_FD"]), b"forks\n")
while not os.path.exists(os.environ["BLOCK"]): time.sleep(0.01)
print("imports pid=%d forked=0 rate=%s own=%s" % (os.getpid(), sys.argv[-1], os.environ["WINNOW_TRIAL"]))
)";

// Prints what it is, and what it has been given.
constexpr char kServed[] = R"(
import os, sys, time
print("imports", flush=True)
while "WINNOW_PARENT_FD" in os.environ and os.path.exists(os.environ["BLOCK"]): time.sleep(0.01)
import winnow_trainer as winnow
imported = os.getpid()
def wait():
    while os.path.exists(os.environ["BLOCK"] + ".fork"): time.sleep(0.01)
os.register_at_fork(before=wait)
def main():
    print("pid=%d forked=%d rate=%s own=%s" % (os.getpid(), imported != os.getpid(), sys.argv[-1],
          os.environ["WINNOW_TRIAL"]), flush=True)
    for level in range(int(os.environ["WINNOW_RESOURCE_TO"])): print("loss=%d" % level, flush=True)
    sys.exit(int(os.environ.get("CODE", "0")))
winnow.serve(main)
)";

struct Trained {
  v1::Outcome outcome;
  std::string out;
  bool ended = false;

  bool was_forked() const { return out.find("forked=1") != std::string::npos; }
  int process() const { return std::stoi(out.substr(out.find("pid=") + 4)); }
};

// Whether this process has a descriptor of that process (pidfd_open(2)).
bool IsWatched(pid_t pid) {
  const std::string entry = "Pid:\t" + std::to_string(pid);
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(descriptor.path());
    for (std::string line; std::getline(file, line);) {
      if (line == entry) return true;
    }
  }
  return false;
}

class ForkingHost {
 public:
  explicit ForkingHost(WarmLimits limits = {4})
      : trainers_(&loop_, Place(), {29500, 100}, nullptr, nullptr, limits) {
    Write(kServed);
  }

  // The program of its trials; by default kServed.
  void Write(std::string_view program) const { std::ofstream(folder_ / "train.py") << program; }

  // While it is there, parents do not become ready.
  std::filesystem::path block() const { return folder_ / "block"; }
  // While it is there, parents do not fork.
  std::filesystem::path fork_block() const { return folder_ / "block.fork"; }

  v1::Assignment TrialOf(int64_t trial, const std::string& code = "0") const {
    v1::Assignment assignment =
        MakeAssignment("job." + std::to_string(trial),
                       {"/usr/bin/python3", "-B", (folder_ / "train.py").string(), std::to_string(trial)});
    assignment.set_trial(trial);
    assignment.set_resource_to(2);
    assignment.set_warm(v1::TrainerSpec::FORK);
    (*assignment.mutable_environment())["CODE"] = code;
    (*assignment.mutable_environment())["BLOCK"] = block().string();
    return assignment;
  }

  // Prepares it, and forks its program if that is possible before it may train.
  void Hold(const v1::Assignment& assignment) {
    bool done = false;
    trainers_.Prepare(assignment, [&](const absl::StatusOr<Trainers::Prepared>& prepared) {
      REQUIRE(prepared.ok());
      trainers_.MakeReady(assignment);
      done = true;
    });
    REQUIRE(Await([&done] { return done; }));
  }

  // The process of an assignment among this process's children; 0: none.
  static pid_t ProcessOf(const v1::Assignment& assignment) {
    return ChildWith("WINNOW_ASSIGNMENT=" + assignment.id() + std::string(1, '\0'));
  }

  // `is_prepared`: by Hold.
  Trained Run(const v1::Assignment& assignment, bool is_prepared = false) {
    Trained trained;
    std::unique_ptr<RankRun> run;
    const auto start = [&](const absl::StatusOr<Trainers::Prepared>& prepared) {
      REQUIRE(prepared.ok());
      auto started =
          trainers_.Start(assignment, {[](const v1::Report&) {},
                                       [&trained](v1::GetLogsRequest::Stream, int64_t, std::string_view data,
                                                  bool) { trained.out += data; },
                                       [&trained](v1::Outcome outcome) {
                                         trained.outcome = std::move(outcome);
                                         trained.ended = true;
                                       }});
      REQUIRE(started.ok());
      run = *std::move(started);
    };
    is_prepared ? start(Trainers::Prepared()) : trainers_.Prepare(assignment, start);
    REQUIRE(Await([&trained] { return trained.ended; }));
    const bool forked = trained.was_forked();
    CHECK(trained.outcome.part_start() == (forked ? v1::FORKED : v1::NEW_PROCESS));
    CHECK((trained.out.find("imports") == std::string::npos) == forked);
    const std::string number = std::to_string(assignment.trial());
    CHECK(trained.out.find("rate=" + number + " own=" + number) != std::string::npos);
    return trained;
  }

  // Trains one trial after the other until one is forked. Their numbers begin at `first`.
  Trained RunUntilForked(int64_t first) {
    for (int64_t trial = first; trial < first + 200; ++trial) {
      Trained trained = Run(TrialOf(trial));
      REQUIRE(trained.outcome.kind() == v1::Outcome::FINISHED);
      if (trained.was_forked()) return trained;
    }
    FAIL("none is forked");
    return {};
  }

  bool Await(const std::function<bool()>& condition) { return RunUntil(loop_, condition); }

  // The parent among this process's children; 0: none.
  static pid_t Parent() { return ChildWith("WINNOW_ASSIGNMENT=job.parent-"); }

  ProcessTrainers& trainers() { return trainers_; }

 private:
  // A child of this process whose environment has the words; 0: none.
  static pid_t ChildWith(const std::string& words) {
    for (const auto& [pid, line] : AllProcesses()) {
      if (line.parent != getpid()) continue;
      std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
      const std::string environment{std::istreambuf_iterator<char>(file), {}};
      if (environment.find(words) != std::string::npos && line.state != 'Z') return pid;
    }
    return 0;
  }

  TrainerPlace Place() const {
    TrainerPlace place{
        folder_ / "work", folder_ / "shared", WINNOW_BIN_DIR, "127.0.0.1", {"PATH=/usr/bin:/bin"}};
    place.python = std::string(WINNOW_SOURCE_DIR) + "/worker";
    return place;
  }

  TempFolder folder_;
  EventLoop loop_;
  ProcessTrainers trainers_;
};

}  // namespace

TEST_CASE("Parents: after the first trials the others are forked, as processes of their own", "[worker]") {
  ForkingHost host;
  CHECK_FALSE(host.Run(host.TrialOf(1)).was_forked());
  const Trained forked = host.RunUntilForked(2);
  CHECK(forked.process() != ForkingHost::Parent());
  const Trained failed = host.Run(host.TrialOf(900, "3"));
  CHECK(failed.was_forked());
  CHECK(failed.outcome.kind() == v1::Outcome::FAILED);
  CHECK(failed.outcome.exit_code() == 3);
  CHECK(host.Run(host.TrialOf(901)).was_forked());

  v1::WaitingTrainer parent;
  parent.set_job_id(host.TrialOf(1).job_id());
  const pid_t pid = ForkingHost::Parent();
  REQUIRE(pid > 0);
  host.trainers().LetGo(parent);
  CHECK(kill(pid, 0) != 0);
  CHECK_FALSE(host.Run(host.TrialOf(902)).was_forked());
}

TEST_CASE("Parents: one that is killed or stopped costs a start and no failure", "[worker]") {
  ForkingHost host;
  host.RunUntilForked(1);
  const pid_t pid = ForkingHost::Parent();
  REQUIRE(pid > 0);
  SECTION("killed") { kill(pid, SIGKILL); }
  SECTION("stopped") {
    kill(pid, SIGSTOP);
    REQUIRE(host.Await([pid] { return ReadProcess(pid)->state == 'T'; }));
  }
  const Trained next = host.Run(host.TrialOf(900));
  CHECK_FALSE(next.was_forked());
  CHECK(next.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(host.Await([pid] { return kill(pid, 0) != 0; }));
  host.RunUntilForked(901);
}

TEST_CASE("Parents: one that is stopped before it is ready is given up, and another one comes", "[worker]") {
  ForkingHost host;
  std::ofstream(host.block()) << "";
  pid_t pid = 0;
  for (int64_t trial = 1; trial <= 200 && pid == 0; ++trial) {
    CHECK_FALSE(host.Run(host.TrialOf(trial)).was_forked());
    pid = ForkingHost::Parent();
  }
  REQUIRE(pid > 0);
  kill(pid, SIGSTOP);
  REQUIRE(host.Await([pid] { return kill(pid, 0) != 0; }));
  std::filesystem::remove(host.block());
  host.RunUntilForked(300);
  CHECK(ForkingHost::Parent() != 0);
}

TEST_CASE("Parents: a program is forked before there is a slot for it, and trains when there is one",
          "[worker]") {
  ForkingHost host;
  host.RunUntilForked(1);
  const v1::Assignment assignment = host.TrialOf(900);
  host.Hold(assignment);
  pid_t held = 0;
  REQUIRE(host.Await([&] { return IsWatched(held = ForkingHost::ProcessOf(assignment)); }));
  SECTION("told to train") {
    const Trained trained = host.Run(assignment, true);
    CHECK(trained.outcome.kind() == v1::Outcome::FINISHED);
    CHECK(trained.was_forked());
    CHECK(trained.process() == held);
  }
  SECTION("killed before") {
    kill(held, SIGKILL);
    const Trained trained = host.Run(assignment, true);
    CHECK(trained.outcome.kind() == v1::Outcome::FINISHED);
    CHECK(trained.process() != held);
  }
  SECTION("stopped before") {
    kill(held, SIGSTOP);
    REQUIRE(host.Await([held] { return ReadProcess(held)->state == 'T'; }));
    const Trained trained = host.Run(assignment, true);
    CHECK(trained.outcome.kind() == v1::Outcome::FINISHED);
    CHECK(trained.process() != held);
  }
  SECTION("no longer wanted") { host.trainers().AbandonPrepare(assignment.id()); }
  CHECK(host.Await([held] { return kill(held, 0) != 0; }));
}

TEST_CASE("Parents: one that does not fork when it is asked costs a start, and ends", "[worker]") {
  ForkingHost host;
  host.RunUntilForked(1);
  const pid_t parent = ForkingHost::Parent();
  REQUIRE(parent > 0);
  std::ofstream(host.fork_block()) << "";
  const v1::Assignment assignment = host.TrialOf(900);
  bool is_prepared = false;
  SECTION("before there is a slot") {
    host.Hold(assignment);
    is_prepared = true;
  }
  SECTION("when there is a slot") {}
  const Trained trained = host.Run(assignment, is_prepared);
  CHECK(trained.outcome.kind() == v1::Outcome::FINISHED);
  CHECK_FALSE(trained.was_forked());
  CHECK(host.Await([parent] { return kill(parent, 0) != 0; }));
}

TEST_CASE("Parents: where two in a row do not fork when they are asked, there is no further one",
          "[worker]") {
  ForkingHost host;
  host.RunUntilForked(1);
  std::ofstream(host.fork_block()) << "";
  int64_t trial = 900;
  while (!host.trainers().Waiting().empty() && trial < 1100)
    CHECK_FALSE(host.Run(host.TrialOf(trial++)).was_forked());
  REQUIRE(host.trainers().Waiting().empty());
  std::filesystem::remove(host.fork_block());
  for (const int64_t last = trial + 5; trial < last; ++trial) {
    CHECK_FALSE(host.Run(host.TrialOf(trial)).was_forked());
    CHECK(host.trainers().Waiting().empty());
  }
}

TEST_CASE("Parents: one that answers in its child's place, and takes no further request, ends", "[worker]") {
  ForkingHost host;
  host.Write(kLies);
  const std::string lie = GENERATE("refused it\n", "forked\n");
  const auto trial_of = [&](int64_t trial) {
    v1::Assignment assignment = host.TrialOf(trial);
    (*assignment.mutable_environment())["LIE"] = lie;
    return assignment;
  };
  host.Run(trial_of(1));
  int rounds = 0;  // until the loop has read what the parent wrote
  REQUIRE(host.Await([&] { return std::filesystem::exists(host.block()) && ++rounds > 3; }));
  const pid_t parent = ForkingHost::Parent();
  const v1::Assignment assignment = trial_of(2);
  host.Hold(assignment);
  CHECK(host.Await([parent] { return kill(parent, 0) != 0; }));
  CHECK(host.Run(assignment, true).outcome.kind() == v1::Outcome::FINISHED);
}

TEST_CASE("Parents: a program that is no longer wanted while it is forked leaves no process", "[worker]") {
  ForkingHost host;
  host.RunUntilForked(1);
  const pid_t parent = ForkingHost::Parent();
  const v1::Assignment assignment = host.TrialOf(900);
  host.Hold(assignment);
  host.trainers().AbandonPrepare(assignment.id());
  for (const auto& [pid, line] : AllProcesses()) CHECK((line.parent != getpid() || pid == parent));
}

TEST_CASE("Parents: only what a parent can fork is there before its slot", "[worker]") {
  ForkingHost host;
  v1::Assignment assignment = host.TrialOf(900);
  SECTION("there is no parent") {}
  SECTION("the job says no") {
    host.RunUntilForked(1);
    assignment.set_warm(v1::TrainerSpec::PROCESS);
  }
  SECTION("it goes on from a checkpoint") {
    host.RunUntilForked(1);
    assignment.set_resource_from(1);
  }
  host.Hold(assignment);
  CHECK(ForkingHost::ProcessOf(assignment) == 0);
  CHECK(host.Run(assignment, true).outcome.kind() == v1::Outcome::FINISHED);
}

TEST_CASE("Parents: what a fork cannot be trained by starts a process", "[worker]") {
  ForkingHost host;
  host.RunUntilForked(1);
  v1::Assignment other = host.TrialOf(900);
  SECTION("the job says no") { other.set_warm(v1::TrainerSpec::PROCESS); }
  SECTION("several ranks") { other.set_world_size(2); }
  SECTION("another limit") { other.set_memory_gib(8); }
  SECTION("another job") { other.set_job_id("other"); }
  SECTION("another folder") { other.set_working_directory("/usr"); }
  CHECK_FALSE(host.Run(other).was_forked());
}

TEST_CASE("Parents: a program within another is not forked", "[worker]") {
  ForkingHost host;
  bool had_parent = false;
  for (int64_t trial = 1; trial <= 200 && !(had_parent && ForkingHost::Parent() == 0); ++trial) {
    had_parent = had_parent || ForkingHost::Parent() != 0;
    v1::Assignment assignment = host.TrialOf(trial);
    const std::string line =
        assignment.command(0) + " -B " + assignment.command(2) + " " + assignment.command(3);
    assignment.clear_command();
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), line})
      assignment.add_command(word);
    CHECK_FALSE(host.Run(assignment).was_forked());
  }
  CHECK(had_parent);
  CHECK(ForkingHost::Parent() == 0);
}

TEST_CASE("Parents: none outlives its worker, or is there without places for programs that wait",
          "[worker]") {
  pid_t pid = 0;
  {
    ForkingHost host;
    host.RunUntilForked(1);
    pid = ForkingHost::Parent();
  }
  CHECK(kill(pid, 0) != 0);
  ForkingHost none({0});
  for (int64_t trial = 1; trial <= 3; ++trial) CHECK_FALSE(none.Run(none.TrialOf(trial)).was_forked());
  CHECK(ForkingHost::Parent() == 0);
}

}  // namespace winnow
