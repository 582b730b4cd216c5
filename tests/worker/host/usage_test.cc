#include "worker/host/usage.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include "tests/catch.h"
#include "tests/worker/trainer_play.h"
#include "worker/host/limits.h"

namespace winnow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBurnSeconds = 0.4;
// The kernel counts in hundredths, of each process and of user and system apart.
constexpr double kTickSeconds = 0.05;

void Write(const TempFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.path() / name, std::ios::trunc) << text;
}

double SecondsOf(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Uses the processor for that long, whatever else runs on it.
void Burn(double seconds) {
  while (SecondsOf(RUSAGE_SELF) < seconds) {
  }
}

// A process in its own session that used the processor, as did a reaped child and a child in another session
// that still runs; it reports their total time, and waits.
struct Burner {
  explicit Burner(Cgroup* group) {
    const int join = group == nullptr ? -1 : group->JoinFile();
    int go[2], told[2];
    REQUIRE(pipe(go) == 0);
    REQUIRE(pipe(told) == 0);
    pid = fork();
    if (pid == 0) {
      setsid();
      char byte = 0;
      if (join >= 0 && write(join, "0", 1) != 1) _exit(1);
      if (read(go[0], &byte, 1) != 1) _exit(1);
      Work(told[1]);
    }
    go_ = go[1];
    told_ = told[0];
    close(go[0]);
    close(told[1]);
  }
  ~Burner() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    if (other_ > 0) kill(other_, SIGKILL);
    close(go_);
    close(told_);
  }
  // Seconds of the processor.
  double Run() {
    struct Told {
      double seconds;
      pid_t other;
    } words{};
    REQUIRE(write(go_, "g", 1) == 1);
    REQUIRE(read(told_, &words, sizeof words) == sizeof words);
    other_ = words.other;
    return words.seconds;
  }

  pid_t pid = -1;

 private:
  [[noreturn]] static void Work(int told) {
    const pid_t child = fork();
    if (child == 0) {
      Burn(kBurnSeconds);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    int from_other[2];
    if (pipe(from_other) != 0) _exit(1);
    const pid_t other = fork();
    if (other == 0) {
      setsid();
      Burn(kBurnSeconds);
      const double seconds = SecondsOf(RUSAGE_SELF);
      if (write(from_other[1], &seconds, sizeof seconds) != sizeof seconds) _exit(1);
      for (;;) pause();
    }
    struct {
      double seconds;
      pid_t other;
    } words{0, other};
    if (read(from_other[0], &words.seconds, sizeof words.seconds) != sizeof words.seconds) _exit(1);
    Burn(kBurnSeconds);
    words.seconds += SecondsOf(RUSAGE_SELF) + SecondsOf(RUSAGE_CHILDREN);
    if (write(told, &words, sizeof words) != sizeof words) _exit(1);
    for (;;) pause();
  }
  int go_ = -1;
  int told_ = -1;
  pid_t other_ = -1;
};

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

TEST_CASE("Usage: of the host is what its counters say since the last sample", "[worker]") {
  TempFolder folder;
  Write(folder, "stat", "cpu  100 10 50 800 40 0 0 0 20 0\ncpu0 1 2 3\n");
  Write(folder, "meminfo", "MemTotal:       4194304 kB\nMemFree:        1 kB\nMemAvailable:   1048576 kB\n");
  HostUsage usage(folder.path());
  Write(folder, "stat", "cpu  160 10 70 900 50 5 5 0 60 0\ncpu0 1 2 3\n");
  const v1::UsageSample sample = usage.Sample();
  CHECK(sample.cpu() == Approx(90.0 / 200));  // 60 user, 20 system, 10 interrupts; 110 idle and waiting
  CHECK(sample.memory() == Approx(0.75));
  CHECK(sample.memory_gib() == Approx(3));
  CHECK(sample.time().seconds() > 1'700'000'000);
  CHECK(sample.assignments().empty());
  CHECK(usage.Sample().cpu() == 0);  // nothing since
}

TEST_CASE("Usage: where the host's counters cannot be read it is 0", "[worker]") {
  TempFolder folder;
  HostUsage usage(folder.path());
  Write(folder, "meminfo", "MemTotal: nonsense");
  const v1::UsageSample sample = usage.Sample();
  CHECK(sample.cpu() == 0);
  CHECK(sample.memory() == 0);
}

TEST_CASE("Usage: of a trainer is what all its processes used, as they say themselves", "[worker]") {
  const bool grouped = GENERATE(false, true);
  TempFolder folder;
  EventLoop loop;
  Limiter limiter(&loop, folder.path(), "usage" + std::to_string(getpid()));
  if (grouped && !limiter.HasGroups()) return Skip("this machine permits no groups of cgroup v2");
  const auto confinement = limiter.Confine("a", "", {});
  REQUIRE(confinement.ok());
  const std::shared_ptr<Cgroup> group = grouped ? (*confinement)->Child().group : nullptr;
  HostUsage usage;
  Burner burner(group.get());
  const Clock::time_point before_add = Clock::now();
  usage.Add("a", burner.pid, "", group.get());
  const Clock::time_point after_add = Clock::now();
  const double said = burner.Run();
  const Clock::time_point before = Clock::now();
  const v1::UsageSample sample = usage.Sample();
  const Clock::time_point after = Clock::now();

  REQUIRE(sample.assignments_size() == 1);
  const v1::AssignmentUsage& of_trainer = sample.assignments(0);
  CHECK(of_trainer.assignment_id() == "a");
  CHECK(said >= 3 * kBurnSeconds);
  // The sample is of some time between these.
  CHECK(of_trainer.cpus() * Seconds(before - after_add) <= said + kTickSeconds);
  CHECK(of_trainer.cpus() * Seconds(after - before_add) >= said - kTickSeconds);
  CHECK(of_trainer.memory_gib() > 0);
  CHECK(of_trainer.memory_gib() < 1);
  usage.Remove("a");
  CHECK(usage.Sample().assignments().empty());
}

}  // namespace winnow
