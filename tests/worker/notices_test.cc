// What looks wrong in the output of real processes.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/catch.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/trainer_play.h"
#include "worker/host/rank_connections.h"

namespace winnow {
namespace {

v1::Assignment Script(const std::string& script, int64_t from = 0, int64_t to = 0) {
  v1::Assignment assignment = MakeAssignment("a", {"/bin/sh", "-c", script});
  assignment.set_trial(3);
  assignment.set_resource_regex("epoch ([-0-9]+)");
  assignment.set_resource_from(from);
  assignment.set_resource_to(to);
  return assignment;
}

struct NoticeScene {
  TrainerPlay Run(const v1::Assignment& assignment) { return RunTrainer(&loop, folder, assignment, nullptr); }
  TempFolder folder;
  EventLoop loop;
};

using Kinds = std::set<v1::JobNotice::Kind>;
Kinds KindsOf(const TrainerPlay& play) {
  Kinds kinds;
  for (const auto& [kind, text] : play.notices) kinds.insert(kind);
  return kinds;
}

// Two ends of a TCP connection on this host.
struct Pair {
  Pair() {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(listen(listener, 1) == 0);
    REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(one, reinterpret_cast<sockaddr*>(&address), length) == 0);
    other = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    REQUIRE(other >= 0);
  }
  ~Pair() {
    for (const int fd : {one, other, listener}) close(fd);
  }
  int one = -1, other = -1, listener = -1;
};

// A child that holds these descriptors alone until it is gone.
class Holder {
 public:
  explicit Holder(const std::vector<int>& kept) {
    int ready[2];
    REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      for (int fd = 3; fd < 1024; ++fd) {
        if (fd != ready[1] && std::find(kept.begin(), kept.end(), fd) == kept.end()) close(fd);
      }
      [[maybe_unused]] const ssize_t told = write(ready[1], "r", 1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
  }
  ~Holder() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("Notices: a program that does as the contract says gives none", "[worker]") {
  NoticeScene scene;
  const TrainerPlay play = scene.Run(Script("for i in 1 2 3; do echo epoch $i loss=0.$i; done", 0, 3));
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(play.reports.size() == 3);
  CHECK(KindsOf(play).empty());
}

TEST_CASE("Notices: the notice of a level below 1 names the offset that shifts it", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("for i in 0 1 2; do echo epoch $i loss=0.$i; done");
  const TrainerPlay play = scene.Run(assignment);
  CHECK(play.reports.size() == 2);
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::LEVEL_BELOW_ONE});
  CHECK(play.notices.begin()->second ==
        "Trial 3 reported level 0. Its values were not recorded, because levels begin at 1. If the program "
        "counts from 0, "
        "set trainer.resource_offset to 1.");
  assignment.set_resource_offset(1);
  CHECK(KindsOf(scene.Run(assignment)).empty());
}

TEST_CASE("Notices: a level that is reported twice with another value", "[worker]") {
  NoticeScene scene;
  const TrainerPlay play =
      scene.Run(Script("for i in 1 2; do echo epoch $i loss=0.$i; echo epoch $i loss=nan; done; echo epoch 2 "
                       "loss=0.2"));
  CHECK(play.reports.size() == 2);
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::REPORTED_TWICE});
  CHECK(play.notices.begin()->second ==
        "Trial 3 reported loss twice at level 1: 0.1, then nan. Only the first value counts: report each "
        "once per level.");
  CHECK(KindsOf(scene.Run(Script("for i in 1 1 2; do echo epoch $i loss=0.$i; done"))).empty());
}

TEST_CASE("Notices: a regex that takes only the beginning of a number", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("echo epoch 1 loss=0.5; echo epoch 2 loss=1.2e-05; echo epoch 3 loss=1");
  assignment.mutable_metrics(0)->set_regex("loss=([0-9.]+)");
  const TrainerPlay cut = scene.Run(assignment);
  CHECK(cut.reports.size() == 3);
  REQUIRE(KindsOf(cut) == Kinds{v1::JobNotice::NUMBER_CUT});
  CHECK(cut.notices.begin()->second ==
        "Trial 3 printed `loss` as 1.2e-05, but its regex took only 1.2, and that is the value that counts. "
        "Let the group match the whole number, such as with ([-+0-9.eE]+|nan|inf).");
  const TrainerPlay comma = scene.Run(Script("echo epoch 1 loss=0,5"));
  REQUIRE(KindsOf(comma) == Kinds{v1::JobNotice::NUMBER_CUT});
  CHECK(comma.notices.begin()->second ==
        "Trial 3 printed `loss` as 0,5, but its regex took only 0, and that is the value that counts. Print "
        "numbers with a point: Winnow reads no comma in a number.");
}

TEST_CASE("Notices: a regex that matches two numbers of a line", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("echo epoch 1 train loss: 0.5, val loss: 0.7, loss: none");
  assignment.mutable_metrics(0)->set_regex("loss: ([0-9.]+)");
  const TrainerPlay play = scene.Run(assignment);
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::TWO_IN_A_LINE});
  CHECK(play.notices.begin()->second ==
        "Trial 3 printed `epoch 1 train loss: 0.5, val loss: 0.7`, and the regex of `loss` matches both 0.5 "
        "and 0.7 in it. Only 0.5 counts. If you mean the other, let the regex match more of the text before "
        "it (winnow run: a longer --metric).");
  assignment.mutable_metrics(0)->set_regex("val loss: ([0-9.]+)");
  CHECK(KindsOf(scene.Run(assignment)).empty());
}

TEST_CASE("Notices: a trainer that goes on past its budget, and what it reports there is not recorded",
          "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("for i in 1 2 3 4; do echo epoch $i loss=0.$i; done", 0, 2);
  const TrainerPlay play = scene.Run(assignment);
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(play.reports.size() == 2);
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::BEYOND_BUDGET});
  CHECK_THAT(play.notices.begin()->second,
             Catch::StartsWith("Trial 3 reported level 3, but should train to level 2"));
  // It is stopped at its level, and may have printed more by then.
  assignment.set_resumes(false);
  CHECK(KindsOf(scene.Run(assignment)).empty());
}

TEST_CASE("Notices: one that skips its last level is ended beyond it all the same", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment =
      Script("echo epoch 1 loss=1; echo epoch 3 loss=3; while :; do sleep 0.01; done", 0, 2);
  assignment.set_resumes(GENERATE(true, false));
  assignment.mutable_grace_period()->set_seconds(0);
  const TrainerPlay play = scene.Run(assignment);
  CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
  CHECK(play.reports.size() == 1);
}

TEST_CASE("Notices: a part that begins anew where it was to go on", "[worker]") {
  NoticeScene scene;
  const std::string all = "for i in 1 2 3 4; do echo epoch $i loss=0.$i; done";
  const std::string rest = "for i in 3 4; do echo epoch $i loss=0.$i; done";
  std::filesystem::create_directories(scene.folder / "shared/jobs/job/trials/3/checkpoint");
  const auto save = [&] { std::ofstream(scene.folder / "shared/jobs/job/trials/3/checkpoint/last") << "2"; };
  SECTION("without a checkpoint") {
    const TrainerPlay play = scene.Run(Script(all, 2, 4));
    REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::PART_BEGAN_ANEW});
    CHECK_THAT(play.notices.begin()->second,
               Catch::StartsWith("Trial 3 should resume from level 2, but found no checkpoint"));
  }
  SECTION("with one that it does not read") {
    save();
    const TrainerPlay play = scene.Run(Script(all, 2, 4));
    REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::PART_BEGAN_ANEW});
    CHECK_THAT(play.notices.begin()->second, Catch::Contains("began at level 1 as if it had no checkpoint"));
  }
  SECTION("whose levels are counted") {
    v1::Assignment assignment = Script(all, 2, 6);
    assignment.clear_resource_regex();
    CHECK(KindsOf(scene.Run(assignment)) == Kinds{v1::JobNotice::PART_BEGAN_ANEW});
    save();
    CHECK(KindsOf(scene.Run(assignment)).empty());
  }
  SECTION("not: it goes on") {
    save();
    CHECK(KindsOf(scene.Run(Script(rest, 2, 4))).empty());
  }
  SECTION("not: its checkpoint is a little behind") {
    save();
    CHECK(KindsOf(scene.Run(Script(rest, 3, 4))).empty());
  }
  SECTION("not: it is not to resume, or begins") {
    v1::Assignment assignment = Script(all, 2, 4);
    assignment.set_resumes(false);
    CHECK(KindsOf(scene.Run(assignment)).empty());
    CHECK(KindsOf(scene.Run(Script(all, 0, 4))).empty());
  }
}

TEST_CASE("Notices: an expression that matched no line when the program has finished", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("for i in 1 2; do echo epoch $i loss=0.$i; done; exit $CODE");
  v1::MetricDefinition* auc = assignment.add_metrics();
  auc->set_name("auc");
  auc->set_regex("auc=([0-9.]+)");
  (*assignment.mutable_environment())["CODE"] = "0";
  const TrainerPlay play = scene.Run(assignment);
  CHECK(play.outcome.reason() == "");
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::UNMATCHED_METRIC});
  CHECK(play.notices.begin()->second ==
        "Trial 3 finished, but no line matched `auc` (regex `auc=([0-9.]+)`); it printed 2 lines, the last "
        "was `epoch 2 "
        "loss=0.2`. Metrics are read from standard output only.");
  // One that fails may not have come so far.
  (*assignment.mutable_environment())["CODE"] = "3";
  CHECK(KindsOf(scene.Run(assignment)).empty());
}

TEST_CASE("TrainerRun: a program without the objective is reported with its expression and its last line",
          "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("echo start; for i in 1 2; do echo epoch $i Loss: 0.$i; done; echo");
  CHECK(scene.Run(assignment).outcome.reason() ==
        "The program exited without printing `loss` (regex `loss=([-+0-9.a-z]+)` matched none of 3 lines; "
        "the last was `epoch "
        "2 Loss: 0.2`).");
  CHECK(scene.Run(Script("true")).outcome.reason() ==
        "The program exited without printing `loss`: it printed no line.");
  CHECK_THAT(
      scene.Run(Script("echo step 1 loss=1")).outcome.reason(),
      Catch::StartsWith(
          "The program printed `loss` without a level (resource_regex `epoch ([-0-9]+)` matched none"));
  v1::Assignment fractions = Script("for i in 0.5 1.5; do echo epoch $i loss=1; done");
  fractions.set_resource_regex("epoch ([0-9.]+)");
  CHECK(scene.Run(fractions).outcome.reason() ==
        "The program printed `loss` without a level: resource_regex `epoch ([0-9.]+)` found 0.5; expected a "
        "whole "
        "number, such as the number of an epoch or a step.");
  CHECK_THAT(scene.Run(Script("echo epoch 0 loss=1")).outcome.reason(),
             Catch::Contains("at levels below 1 only"));
}

TEST_CASE("TrainerRun: the reason quotes what the expression took that is no number", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("echo epoch 1 loss=0,5; echo epoch 2 loss=0,25");
  assignment.mutable_metrics(0)->set_regex("loss=([^ ]+)");
  const TrainerPlay play = scene.Run(assignment);
  CHECK(play.outcome.reason() ==
        "The program printed `loss`, but its regex `loss=([^ ]+)` took `0,5`, which is no number; the last "
        "of 2 "
        "lines was `epoch 2 loss=0,25`. Print numbers with a point.");
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::UNMATCHED_METRIC});
  CHECK_THAT(play.notices.begin()->second,
             Catch::StartsWith("Trial 3 finished, but no line gave a number for `loss` (regex "
                               "`loss=([^ ]+)`), which took `0,5`; it printed 2 lines"));
}

TEST_CASE("TrainerRun: a program without the objective is reported with the end of its standard error",
          "[worker]") {
  NoticeScene scene;
  CHECK(scene.Run(Script("echo INFO epoch 1 loss=0.5 >&2")).outcome.reason() ==
        "The program exited without printing `loss`: it printed no line. Its standard error, from which no "
        "metrics are read, ended with `INFO epoch 1 loss=0.5`.");
  CHECK_THAT(scene.Run(Script("no-such-program | cat")).outcome.reason(),
             Catch::StartsWith("The program exited without printing `loss`: it printed no line.") &&
                 Catch::Contains("no-such-program"));
}

TEST_CASE("TrainerRun: the reason says that the other ranks' metrics are not read", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("true");
  assignment.set_world_size(3);
  const TrainerPlay play = scene.Run(assignment);
  CHECK(play.outcome.reason() ==
        "The program exited without printing `loss`: it printed no line. Of the 3 ranks, only rank 0's "
        "metrics are read.");
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::UNMATCHED_METRIC});
  CHECK_THAT(play.notices.begin()->second,
             Catch::EndsWith("Metrics are read from rank 0's standard output only."));
}

TEST_CASE("TrainerRun: the reason says that a dict as Python prints it is no JSON", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment = Script("echo \"{'epoch': 1, 'loss': 0.5}\"");
  assignment.clear_resource_regex();
  assignment.mutable_metrics(0)->clear_regex();
  CHECK(scene.Run(assignment).outcome.reason() ==
        "The program exited without printing `loss` (key `loss`) (none of 1 line was a JSON object with a "
        "number "
        "of that name; the last was `{'epoch': 1, 'loss': 0.5}`). How Python prints a dict is no JSON: print "
        "json.dumps of it.");
}

TEST_CASE("TrainerRun: the reason says that a line was too long to be read as a whole", "[worker]") {
  NoticeScene scene;
  v1::Assignment assignment =
      Script("printf '{\"epoch\": 1, \"loss\": 0.5, \"rest\": \"%070000d\"}\\n' 0; echo end");
  assignment.clear_resource_regex();
  assignment.mutable_metrics(0)->clear_regex();
  const TrainerPlay play = scene.Run(assignment);
  const char* const kWhy =
      " A line was longer than 64 KiB, and only its beginning was read: print metrics in a line of their "
      "own.";
  CHECK_THAT(play.outcome.reason(), Catch::EndsWith("the last was `end`)." + std::string(kWhy)));
  REQUIRE(KindsOf(play) == Kinds{v1::JobNotice::UNMATCHED_METRIC});
  CHECK_THAT(play.notices.begin()->second, Catch::EndsWith(kWhy));
}

TEST_CASE("TrainerRun: a metrics file without the objective is reported with what it got", "[worker]") {
  const auto reason = [](const std::string& lines) {
    NoticeScene scene;
    v1::Assignment assignment =
        Script("mkdir -p $SM_OUTPUT_DATA_DIR; printf '" + lines + "' > $SM_OUTPUT_DATA_DIR/m.jsonl");
    assignment.set_metrics_file("m.jsonl");
    assignment.clear_resource_regex();
    assignment.mutable_metrics(0)->clear_regex();
    assignment.mutable_metrics(0)->set_key("loss");
    return scene.Run(assignment).outcome.reason();
  };
  const std::string line = R"({"epoch": 1, "accuracy": 0.5}\n)",
                    why = "The program exited without writing `loss`";
  CHECK_THAT(reason(line),
             Catch::StartsWith(why) &&
                 Catch::Contains("m.jsonl got 1 line or record, the first with accuracy, epoch"));
  CHECK_THAT(reason(line + line),
             Catch::Contains("m.jsonl got 2 lines or records, the first with accuracy, epoch"));
  NoticeScene scene;
  v1::Assignment csv =
      Script("mkdir -p $SM_OUTPUT_DATA_DIR; printf 'epoch;loss\\n1;0.5\\n' > $SM_OUTPUT_DATA_DIR/m.csv");
  csv.set_metrics_file("m.csv");
  csv.clear_resource_regex();
  csv.mutable_metrics(0)->clear_regex();
  CHECK_THAT(
      scene.Run(csv).outcome.reason(),
      Catch::Contains("m.csv got 1 line or record, the first without a number: the header is `epoch;loss`, "
                      "and commas separate cells"));
}

TEST_CASE("TrainerRun: why it failed leads, then how it ended", "[worker]") {
  NoticeScene scene;
  const auto reason = [&scene](const std::string& script) {
    return scene.Run(Script(script)).outcome.reason();
  };
  CHECK(reason("echo starting >&2; echo no data >&2; exit 3") == "no data (exit code 3)");
  CHECK(reason("exit 3") == "exit code 3");
  CHECK(reason("echo no data; exit 3") == "no data (exit code 3)");
  CHECK(reason("echo epoch 1 loss=1; echo bye; exit 3") == "exit code 3");
  CHECK(reason("echo step 7 >&2; kill -9 $$") == "killed by signal 9 (SIGKILL): step 7");
  CHECK(reason("/usr/bin/python3 -c 'import sys; sys.exit(int(\"x\"))'") ==
        "ValueError: invalid literal for int() with base 10: 'x' (exit code 1)");
}

TEST_CASE("RankConnections: a connection counts whose other end is with somebody else", "[worker]") {
  const Pair pair;
  const Holder alone({}), one({pair.one}), other({pair.other}), both({pair.one, pair.other}),
      listens({pair.listener});
  const auto connected = [](const std::vector<const Holder*>& holders) {
    std::vector<pid_t> pids;
    for (const Holder* holder : holders) pids.push_back(holder->pid());
    const std::optional<bool> found = AreConnected(pids);
    REQUIRE(found.has_value());
    return *found;
  };
  CHECK_FALSE(connected({&alone}));
  CHECK_FALSE(connected({&listens}));
  CHECK(connected({&one}));
  CHECK(connected({&other}));
  CHECK(connected({&alone, &one}));
  CHECK_FALSE(connected({&both}));
  CHECK_FALSE(connected({&one, &other}));
}

TEST_CASE("RankConnections: of processes that are gone nothing can be said", "[worker]") {
  pid_t pid = 0;
  {
    const Holder gone({});
    pid = gone.pid();
  }
  CHECK_FALSE(AreConnected({pid}).has_value());
  CHECK_FALSE(AreConnected({}).has_value());
}

}  // namespace winnow
