// Ranks as processes that are killed and stopped.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "tests/catch.h"
#include "worker/collective/socket.h"

namespace winnow {
namespace {

// A running rank_program. Its standard output is read line by line.
class RankProcess {
 public:
  RankProcess(int rank, int size, int port, const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {WINNOW_TEST_BIN_DIR "/rank_program"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> variables = {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", size),
                                          "MASTER_ADDR=localhost", fmt::format("MASTER_PORT={}", port),
                                          "WINNOW_ATTEMPT=1"};
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execve(argv[0], argv.data(), envp.data());
      _exit(127);
    }
    close(ends[1]);
    out_ = ends[0];
  }
  ~RankProcess() {
    close(out_);
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void Signal(int number) const { ::kill(pid_, number); }
  std::string ReadLine() const {
    std::string line;
    for (char c = 0; read(out_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

using Processes = std::vector<std::unique_ptr<RankProcess>>;

// Ranks that are connected with each other.
Processes StartRanks(int size, const std::vector<std::string>& arguments) {
  Socket listener = *ListenAt({*ResolveHost("127.0.0.1"), 0});
  const int port = OwnEndpoint(listener).port;
  listener.Close();
  Processes ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<RankProcess>(r, size, port, arguments));
  for (const auto& rank : ranks) CHECK(rank->ReadLine() == "ready");
  return ranks;
}

TEST_CASE("TcpRanks: processes find each other by their environment", "[collective]") {
  for (const auto& rank : StartRanks(3, {"10000", "1000", "50"})) CHECK(rank->ReadLine() == "ok");
}

TEST_CASE("TcpRanks: every survivor hears at once which rank was killed", "[collective]") {
  const int size = GENERATE(2, 4), words = GENERATE(1, 2000, 2000000);
  const Processes ranks = StartRanks(size, {"3600000", std::to_string(words), "-1"});
  ranks[1]->Signal(SIGKILL);
  for (int r = 0; r < size; ++r) {
    if (r != 1) CHECK(ranks[r]->ReadLine() == "UNAVAILABLE: rank 1 is gone: connection closed");
  }
}

TEST_CASE("TcpRanks: survivors hear which rank was stopped, when patience has run out", "[collective]") {
  const int words = GENERATE(1, 2000000);
  const Processes ranks = StartRanks(4, {"800", std::to_string(words), "-1"});
  ranks[1]->Signal(SIGSTOP);
  const std::string reason = fmt::format(
      "DEADLINE_EXCEEDED: rank 1 stands still: nothing from it for 0.8 s in AllReduceSum of {} words", words);
  for (const int r : {0, 2, 3}) CHECK(ranks[r]->ReadLine() == reason);
  ranks[1]->Signal(SIGCONT);
  CHECK(ranks[1]->ReadLine().find(": rank ") != std::string::npos);
}

}  // namespace
}  // namespace winnow
