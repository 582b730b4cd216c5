#include "base/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/catch.h"

namespace winnow {
namespace {

struct Ended {
  std::string text;  // of its stderr
  int status = 0;
};

// How a process ends that runs `body`.
template <typename Body>
Ended InChild(const Body& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);  // not Catch2's handler
    body();
    _exit(0);
  }
  close(ends[1]);
  Ended ended;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    ended.text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  return ended;
}

TEST_CASE("Check: what does not hold is printed with its place, and the process aborts", "[base]") {
  const int ranks = 3;
  const Ended ended = InChild([&] { WINNOW_CHECK(ranks % 2 == 0, "ranks come in pairs"); });
  CHECK(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGABRT);
  CHECK_THAT(ended.text, Catch::Contains("check_test.cc:"));
  CHECK_THAT(ended.text, Catch::EndsWith(": check failed: ranks % 2 == 0 (ranks come in pairs)\n"));
}

TEST_CASE("Check: what holds costs nothing, not even its text", "[base]") {
  bool evaluated = false;
  const auto text = [&] {
    evaluated = true;
    return std::string("text");
  };
  WINNOW_CHECK(true, text());
  CHECK_FALSE(evaluated);
}

TEST_CASE("Check: a line that is never reached ends the process", "[base]") {
  const Ended ended = InChild([] { WINNOW_UNREACHABLE("all kinds are handled above"); });
  CHECK(WIFSIGNALED(ended.status));
  CHECK_THAT(ended.text, Catch::Contains("all kinds are handled above"));
}

}  // namespace
}  // namespace winnow
